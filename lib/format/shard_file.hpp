// A shard open for reading, as far as its header: enough to copy it, to take its digest, and to read parts of its data
// whose places are known. Shard also knows its regions. Local; const calls may come from several threads.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "base/bytes.hpp"
#include "base/error.hpp"
#include "format/shard_header.hpp"
#include "store/store.hpp"

namespace cairn {

class ShardFile {
 public:
  // Checks the header, and that the file is as long as it says.
  static Result<ShardFile> open(const Store& store, const FileName& name);
  // `name` is for messages.
  static Result<ShardFile> open(std::shared_ptr<const Reader> file, const FileName& name);

  [[nodiscard]] const ShardHeader& header() const { return header_; }
  [[nodiscard]] const Reader& file() const { return *file_; }
  [[nodiscard]] const std::string& name() const { return name_; }

  // The region table as it is stored, after its CRC was found right.
  [[nodiscard]] Result<Buffer> table() const;
  // Whether the stored table is exactly this one. Takes little memory. False also if it is damaged.
  [[nodiscard]] Result<bool> has_table(Bytes table) const;
  // Header, region table, CRC table and, if it has one, SHA table: the bytes that the digest covers. Together with its
  // regions' bytes, they are enough to rebuild the shard.
  [[nodiscard]] Result<Buffer> frame() const;

  // Bytes of the data section, counted from its start.
  struct Part {
    std::uint64_t begin = 0;
    MutableBytes into;
    [[nodiscard]] std::uint64_t end() const { return begin + into.size(); }
  };
  // Copies parts out, checking the CRC of every block they touch. They are in order, do not overlap, and none is empty.
  [[nodiscard]] Status read_parts(std::span<const Part> parts) const;

 private:
  ShardFile(std::shared_ptr<const Reader> file, std::string name, const ShardHeader& header)
      : file_(std::move(file)), name_(std::move(name)), header_(header) {}
  // What `parts` want of a block, from position `next` on; returns the block's CRC-32C.
  [[nodiscard]] Result<std::uint32_t> read_block(std::uint64_t block, std::span<const Part> parts,
                                                 std::size_t& next) const;

  std::shared_ptr<const Reader> file_;
  std::string name_;
  ShardHeader header_;
};

}  // namespace cairn
