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
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.hpp"
#include "base/error.hpp"
#include "base/ids.hpp"
#include "base/sha256.hpp"
#include "base/workers.hpp"
#include "format/name_index.hpp"
#include "format/region.hpp"
#include "format/shard_file.hpp"
#include "store/store.hpp"

namespace cairn {

// One region as a writer sees it. `offset` is from the start of the file.
struct PlacedRegion {
  RegionInfo info;
  std::uint64_t offset = 0;
};
[[nodiscard]] Buffer encode(const std::vector<PlacedRegion>& table);
struct RegionTable {
  std::vector<PlacedRegion> regions;
  NameIndex by_name;
  [[nodiscard]] std::optional<std::uint32_t> find(std::string_view name) const {
    return by_name.find(name, [this](std::uint32_t region) -> std::string_view { return regions[region].info.name; });
  }
};
[[nodiscard]] Result<RegionTable> decode_region_table(Bytes bytes, const ShardHeader& header);

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

// Reads bytes of a region that is not in memory.
using ReadRegion = std::function<Status(std::size_t region, std::uint64_t offset, MutableBytes into)>;
// Writes a shard in one pass and gives it its name; not synced. `regions` are the bytes of the plan's regions, in the
// same order. What is empty there, and not in the plan, `read` puts straight into the shard, in order. Returns the
// file's size.
class ShardPlan;
[[nodiscard]] Result<std::uint64_t> write_shard(Store& store, const FileName& name, const ShardIdentity& who,
                                                const ShardPlan& plan, std::span<const Bytes> regions,
                                                const ReadRegion& read = {});

// A shard open for reading, whose regions are known.
class Shard : public ShardFile {
 public:
  static Result<Shard> open(const Store& store, const FileName& name);
  // `name` is for messages.
  static Result<Shard> open(std::shared_ptr<const Reader> file, const FileName& name);
  // Reads the region table.
  static Result<Shard> of(ShardFile file);

  [[nodiscard]] const std::vector<PlacedRegion>& regions() const { return table_.regions; }
  // Position of a region by name, or not_found.
  [[nodiscard]] Result<std::size_t> find(std::string_view name) const;

  struct Target {
    std::size_t region;  // position in regions()
    MutableBytes into;   // exactly as long as the region
  };
  // Copies regions out, in any order, checking the CRC of every block they touch.
  [[nodiscard]] Status read(std::span<const Target> targets) const;
  // read_parts() of parts whose begins are offsets in a region; `region`: its position. invalid_argument: they exceed
  // it.
  [[nodiscard]] Status read_region(std::size_t region, std::span<const Part> parts) const;

 private:
  Shard(ShardFile file, RegionTable table) : ShardFile(std::move(file)), table_(std::move(table)) {}
  RegionTable table_;
};

// Reads a region in whole blocks, so that each is read and checked once, and passes them to `use`, in order, without
// the bytes of other regions.
[[nodiscard]] Status read_in_blocks(const ShardFile& shard, const PlacedRegion& region,
                                    const std::function<Status(Bytes)>& use);

// Checks the CRC of every block, and keeps nothing.
[[nodiscard]] Status check_blocks(const ShardFile& shard);

// The SHA-256 of every block, whose CRC is checked, end to end. `workers` help; `between` is called after blocks that
// this thread did, for other work.
[[nodiscard]] Result<Buffer> sha_of_blocks(const ShardFile& shard, Workers& workers,
                                           const std::function<void()>& between);

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
