// The blocks of a stored shard's data section, with the checksums they should have. Local.
#pragma once

#include "format/shard_codec.hpp"

namespace cairn {

class ShardBlocks {
 public:
  ShardBlocks(const Reader& file, const ShardHeader& header) : file_(file), header_(header) {}

  // Reads the CRC table and, with `sha`, the SHA table, if there is one; needed before any check.
  Status load_tables(bool sha);
  // A block's bytes: in the file's mapping, or in `scratch`. Several threads may call it at once, each with its own
  // `scratch`.
  [[nodiscard]] Result<Bytes> bytes(std::uint64_t block, Buffer& scratch) const;
  [[nodiscard]] Status check_crc(std::uint64_t block, std::uint32_t is) const;
  // Where no SHA table was read there is nothing to compare.
  [[nodiscard]] Status check_sha(std::uint64_t block, Bytes bytes) const;

 private:
  const Reader& file_;
  const ShardHeader& header_;
  Buffer crcs_;
  Buffer shas_;
};

// Whether the header says that this is the shard that a manifest names.
[[nodiscard]] Status check_entry(const ShardHeader& header, const ShardEntry& expected);
// Whether there are zeros behind the tables and the data.
[[nodiscard]] Status check_padding(const ShardFile& shard);

}  // namespace cairn
