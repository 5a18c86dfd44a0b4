// A shard is one rank's part of a snapshot: a file in Cairn's container format. FORMAT.md says where each byte lies. It
// is written in one pass by the rank, with a CRC-32C per block. Its head takes the shard's digest, which goes into
// manifests; where blocks are to have a SHA-256 as well, the head fills them in before. Under its final name a shard is
// valid only if its header is good; the header is written last.
//
// A parser trusts nothing: every length is checked before use, and each error names what is wrong.
// Local: no call communicates.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "base/error.hpp"
#include "base/ids.hpp"
#include "base/sha256.hpp"
#include "base/workers.hpp"
#include "format/region.hpp"
#include "store/store.hpp"

namespace cairn {

// Never change.
inline constexpr std::uint64_t kShardHeaderBytes = 4096;
inline constexpr std::uint64_t kShardAlignment = 4096;  // of the data section and of what follows it
inline constexpr std::uint64_t kRegionAlignment = 64;
inline constexpr std::uint64_t kBlockBytes = kMiB;
inline constexpr std::uint32_t kShardFormat = 2;  // the newest

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

// One region as a writer sees it. `offset` is from the start of the file.
struct PlacedRegion {
  RegionInfo info;
  std::uint64_t offset = 0;
};
[[nodiscard]] Buffer encode(const std::vector<PlacedRegion>& table);
[[nodiscard]] Result<std::vector<PlacedRegion>> decode_region_table(Bytes bytes, const ShardHeader& header);

// What manifests say about a shard.
struct ShardEntry {
  Rank rank;
  std::uint64_t bytes = 0;  // of the file
  Sha256 digest;            // SHA-256 over the frame: header, region table, CRC table and, if it has one, SHA table
  friend bool operator==(const ShardEntry&, const ShardEntry&) = default;
};

struct ShardIdentity {
  Identity identity;
  std::uint64_t safe_point = 0;
  Rank rank;
  std::uint32_t ranks = 0;
};

// Writes a shard in one pass and gives it its name; not synced. `regions` are the bytes of the plan's regions, in the
// same order. Returns the file's size.
class ShardPlan;
[[nodiscard]] Result<std::uint64_t> write_shard(Store& store, const FileName& name, const ShardIdentity& who,
                                                const ShardPlan& plan, std::span<const Bytes> regions);

// A shard open for reading, header and region table parsed and checked.
class Shard {
 public:
  static Result<Shard> open(const Store& store, const FileName& name);
  // `name` is for messages.
  static Result<Shard> open(std::shared_ptr<const Reader> file, const FileName& name);

  [[nodiscard]] const ShardHeader& header() const { return header_; }
  [[nodiscard]] const std::vector<PlacedRegion>& regions() const { return regions_; }
  [[nodiscard]] const Reader& file() const { return *file_; }
  [[nodiscard]] const std::string& name() const { return name_; }
  // Position of a region by name, or not_found.
  [[nodiscard]] Result<std::size_t> find(const std::string& name) const;

  struct Target {
    std::size_t region;  // position in regions()
    MutableBytes into;   // exactly as long as the region
  };
  // Copies regions out, checking the CRC of every block they touch; with `sha`, also its SHA-256, if it has one.
  [[nodiscard]] Status read(std::span<const Target> targets, bool sha) const;

  // Header, region table, CRC table and, if it has one, SHA table: the bytes that the digest covers. Together with its
  // regions' bytes, they are enough to rebuild the shard.
  [[nodiscard]] Result<Buffer> frame() const;

 private:
  std::string name_;
  std::shared_ptr<const Reader> file_;
  ShardHeader header_;
  std::vector<PlacedRegion> regions_;
  std::vector<std::uint32_t> by_name_;  // positions in regions_, in name order
};

// Checks the CRC of every block, and keeps nothing.
[[nodiscard]] Status check_blocks(const Shard& shard);

// The SHA-256 of every block, whose CRC is checked, end to end. `workers` help; `between` is called after blocks that
// this thread did, for other work.
[[nodiscard]] Result<Buffer> sha_of_blocks(const Shard& shard, Workers& workers, const std::function<void()>& between);

// Syncs a freshly written shard and returns its entry, of a frame that is known to be right. If the shard has a SHA
// table, fills it in before, and checks every block's CRC on the way; else it reads no data, since the rank has
// computed the CRCs from what it stored. `workers` and `between`: as above.
[[nodiscard]] Result<ShardEntry> digest_shard(Store& store, const FileName& name, Workers& workers,
                                              const std::function<void()>& between);
// By this thread alone: `between` comes after every block but the last.
[[nodiscard]] Result<ShardEntry> digest_shard(Store& store, const FileName& name, const std::function<void()>& between);

// The inverse: are these the bytes that were digested? Reads everything: padding, every block's CRC and, if it has one,
// SHA-256, and the digest against `expected`. Code::corrupt says where.
[[nodiscard]] Status verify_shard(const Store& store, const FileName& name, const ShardEntry& expected,
                                  Workers& workers, const std::function<void()>& between);
[[nodiscard]] Status verify_shard(const Store& store, const FileName& name, const ShardEntry& expected,
                                  const std::function<void()>& between);
[[nodiscard]] Status verify_shard(const Shard& shard, const ShardEntry& expected, Workers& workers,
                                  const std::function<void()>& between);

}  // namespace cairn
