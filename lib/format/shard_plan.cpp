#include "format/shard_plan.hpp"

#include <string_view>

#include <fmt/format.h>

#include "codec/crc32c.hpp"
#include "format/name_index.hpp"
#include "format/shard_codec.hpp"

namespace cairn {
namespace {

Status check_regions(std::span<const RegionInfo* const> regions) {
  NameIndex names(regions.size());
  std::uint64_t total = 0;
  for (std::uint32_t i = 0; i < regions.size(); ++i) {
    const RegionInfo& region = *regions[i];
    if (auto good = check(region); !good) return good;
    total += region.size_bytes();
    if (!names.add(i, [&](std::uint32_t position) -> std::string_view { return regions[position]->name; })) {
      return fail(Code::invalid_argument, fmt::format("region \"{}\" is protected twice", region.name),
                  "give each region a name of its own");
    }
  }
  if (regions.size() > UINT32_MAX || total > (1ULL << 59U)) {
    return fail(Code::invalid_argument,
                fmt::format("{} regions of {} bytes do not fit a shard", regions.size(), total));
  }
  return {};
}

}  // namespace

Result<ShardPlan> ShardPlan::make(std::span<const RegionInfo* const> regions, BlockDigest digest) {
  if (auto good = check_regions(regions); !good) return fail(good.error());
  ShardPlan plan;
  ShardHeader& header = plan.header_;
  header.digest = digest;
  header.regions = static_cast<std::uint32_t>(regions.size());
  plan.places_.reserve(regions.size());
  for (const RegionInfo* region : regions) {
    header.table_bytes += entry_bytes(*region);
    header.has_ghosts |= region->has_ghosts();
    const std::uint64_t begin = round_up(header.data_bytes, kRegionAlignment);
    plan.places_.push_back({begin, region->size_bytes()});
    header.data_bytes = begin + region->size_bytes();
  }
  header.data_offset = round_up(kShardHeaderBytes + header.table_bytes, kShardAlignment);
  ByteWriter table(header.table_bytes);
  for (std::size_t i = 0; i < regions.size(); ++i) {
    put_entry(table, *regions[i], header.data_offset + plan.places_[i].begin);
  }
  plan.table_ = table.take();
  header.table_crc = crc32c(plan.table_);
  return plan;
}

}  // namespace cairn
