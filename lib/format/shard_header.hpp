// The first 4 KiB of a shard: whose it is, and how long its parts are. Plain data.
#pragma once

#include <cstdint>

#include "base/bytes.hpp"
#include "base/error.hpp"
#include "base/ids.hpp"

namespace cairn {

// Never change.
inline constexpr std::uint64_t kShardHeaderBytes = 4096;
inline constexpr std::uint64_t kShardAlignment = 4096;  // of the data section and of what follows it
inline constexpr std::uint64_t kRegionAlignment = 64;
inline constexpr std::uint64_t kBlockBytes = kMiB;
inline constexpr std::uint32_t kShardFormat = 4;  // the newest

// What every block of a shard has, to show damage: a CRC-32C, or a SHA-256 too, which also shows what was done on
// purpose.
enum class BlockDigest { crc32c, sha256 };

struct ShardHeader {
  Identity identity;
  std::uint64_t safe_point = 0;  // calls of snapshot() in the life of the chain, this one included
  Rank rank;
  std::uint32_t ranks = 0;  // application ranks in the job
  std::uint32_t regions = 0;
  std::uint64_t table_bytes = 0;
  std::uint64_t data_offset = 0;
  std::uint64_t data_bytes = 0;  // up to the end of the last region
  std::uint32_t table_crc = 0;
  std::uint32_t crcs_crc = 0;  // of the CRC table; 0 where blocks have a SHA-256, which covers it
  BlockDigest digest = BlockDigest::sha256;
  bool has_ghosts = false;  // of some region

  [[nodiscard]] std::uint64_t blocks() const { return round_up(data_bytes, kBlockBytes) / kBlockBytes; }
  [[nodiscard]] std::uint64_t crc_offset() const { return data_offset + round_up(data_bytes, kShardAlignment); }
  [[nodiscard]] std::uint64_t sha_offset() const { return crc_offset() + round_up(blocks() * 4, kShardAlignment); }
  [[nodiscard]] std::uint64_t sha_bytes() const { return digest == BlockDigest::sha256 ? blocks() * 32 : 0; }
  [[nodiscard]] std::uint64_t file_bytes() const { return sha_offset() + round_up(sha_bytes(), kShardAlignment); }
  friend bool operator==(const ShardHeader&, const ShardHeader&) = default;
};

// The 4 KiB header. Inverse pair.
[[nodiscard]] Buffer encode(const ShardHeader& header);
[[nodiscard]] Result<ShardHeader> decode_shard_header(Bytes bytes);

}  // namespace cairn
