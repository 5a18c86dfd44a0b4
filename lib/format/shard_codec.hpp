// Pieces of the container that its writer and its readers share. Pure, but for ShardOutput, which is local.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "format/shard.hpp"
#include "store/pending_file.hpp"

namespace cairn {

inline constexpr std::uint64_t kCrcBytes = 4;
inline constexpr std::uint64_t kShaBytes = 32;

// One entry of the region table, and how long it is.
[[nodiscard]] std::uint64_t entry_bytes(const RegionInfo& info);
void put_entry(ByteWriter& out, const RegionInfo& info, std::uint64_t offset);

[[nodiscard]] std::uint64_t block_length(const ShardHeader& header, std::uint64_t block);

// Whether this is the region table that the header speaks of.
[[nodiscard]] Status check_region_table(const ShardHeader& header, Bytes table);
// Whether this is the CRC table that the header speaks of, as far as it says that.
[[nodiscard]] Status check_crc_table(const ShardHeader& header, Bytes crcs);
// "block 12 of 64: CRC-32C is 9f1c22b0, should be 04aa71d3"
[[nodiscard]] Error wrong_crc(std::uint64_t blocks, std::uint64_t block, std::uint32_t is, std::uint32_t should);
[[nodiscard]] Error wrong_sha(const ShardHeader& header, std::uint64_t block, const Sha256& is, const Sha256& should);
[[nodiscard]] Error wrong_digest(const Sha256& is, const Sha256& should);

// A block's entry in a table of SHA-256s end to end.
[[nodiscard]] Sha256 sha_at(Bytes shas, std::uint64_t block);

// Header, region table, CRC table and, if there is one, SHA table end to end: what the digest covers.
struct ShardFrame {
  Buffer bytes;
  ShardHeader header;
  std::vector<PlacedRegion> regions;

  static Result<ShardFrame> parse(Buffer bytes);
  static std::uint64_t length(const ShardHeader& header) {
    return kShardHeaderBytes + header.table_bytes + header.blocks() * kCrcBytes + header.sha_bytes();
  }

  [[nodiscard]] Bytes header_bytes() const { return Bytes(bytes).first(kShardHeaderBytes); }
  [[nodiscard]] Bytes table() const { return Bytes(bytes).subspan(kShardHeaderBytes, header.table_bytes); }
  [[nodiscard]] Bytes crcs() const { return after_table().first(header.blocks() * kCrcBytes); }
  [[nodiscard]] Bytes shas() const { return after_table().subspan(header.blocks() * kCrcBytes); }
  [[nodiscard]] std::uint32_t crc(std::uint64_t block) const;

 private:
  [[nodiscard]] Bytes after_table() const { return Bytes(bytes).subspan(kShardHeaderBytes + header.table_bytes); }
};

// The data section as it is produced, in order: cut into blocks, each with its CRC-32C, taken while the block
// is in the cache. With `mapping` (the data section of a mapped file) bytes go straight there; else through one
// block's buffer.
class DataSection {
 public:
  using Done = std::function<Status(std::uint64_t block, Bytes bytes, std::uint32_t crc)>;
  DataSection(std::uint64_t data_bytes, MutableBytes mapping, Done done);

  Status put(Bytes bytes);
  // The next `count` bytes, which `fill` writes to their place, piece by piece.
  using Fill = std::function<Status(MutableBytes into)>;
  Status take(std::uint64_t count, const Fill& fill);
  // Padding up to `position`, counted from the start of the section.
  Status zeros_to(std::uint64_t position);

 private:
  template <class Filler>
  Status pieces(std::uint64_t left, const Filler& fill);

  std::uint64_t data_bytes_;
  MutableBytes mapping_;
  Buffer buffer_;
  Done done_;
  std::uint64_t position_ = 0;
  std::uint64_t summed_ = 0;  // the current block's checksum covers the bytes up to here
  std::uint32_t crc_ = 0;
};

// A shard's file while it is written: the data section in any order, then the rest, the header last.
class ShardOutput {
 public:
  // `owner`: as Store::create().
  static Result<ShardOutput> create(Store& store, const FileName& name, const ShardHeader& header,
                                    const std::string& owner);

  // The data section of the mapped file; empty when the store does not map.
  [[nodiscard]] MutableBytes mapped_data();
  Status write_block(std::uint64_t block, Bytes bytes);
  struct Parts {
    Bytes header, table, crcs, shas;
  };
  // Afterwards the file is complete, but has no name yet.
  [[nodiscard]] Result<PendingFile> finish(const Parts& parts) &&;

 private:
  Status put(std::uint64_t offset, Bytes bytes);
  Status zeros(std::uint64_t from, std::uint64_t to);

  ShardHeader header_;
  std::unique_ptr<Writer> writer_;
  MutableBytes mapping_;
};

}  // namespace cairn
