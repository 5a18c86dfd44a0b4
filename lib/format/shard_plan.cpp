#include "format/shard_plan.hpp"

#include <string_view>

#include <fmt/format.h>

#include "codec/crc32c.hpp"
#include "format/name_index.hpp"
#include "format/shard_codec.hpp"

namespace cairn {
namespace {

Status check_names(std::span<const RegionInfo* const> regions) {
  NameIndex names(regions.size());
  for (std::uint32_t i = 0; i < regions.size(); ++i) {
    if (!names.add(i, [&](std::uint32_t position) -> std::string_view { return regions[position]->name; })) {
      return fail(Code::invalid_argument, fmt::format("region \"{}\" is protected twice", regions[i]->name),
                  "give each region a name of its own");
    }
  }
  return {};
}

}  // namespace

Result<ShardHeader> ShardPlan::measure(std::size_t count, const EachRegion& each, BlockDigest digest,
                                       std::vector<Extent>* places) {
  ShardHeader header;
  header.digest = digest;
  header.regions = static_cast<std::uint32_t>(count);
  std::uint64_t total = 0;
  const auto measured = each([&](const RegionInfo& region) -> Status {
    if (auto good = check(region); !good) return good;
    total += region.size_bytes();
    header.table_bytes += entry_bytes(region);
    header.has_ghosts |= region.has_ghosts();
    const std::uint64_t begin = round_up(header.data_bytes, kRegionAlignment);
    header.data_bytes = begin + region.size_bytes();
    if (places != nullptr) places->push_back({begin, region.size_bytes()});
    return {};
  });
  if (!measured) return fail(measured.error());
  if (count > UINT32_MAX || total > (1ULL << 59U))
    return fail(Code::invalid_argument, fmt::format("{} regions of {} bytes do not fit a shard", count, total));
  header.data_offset = round_up(kShardHeaderBytes + header.table_bytes, kShardAlignment);
  return header;
}

Result<ShardHeader> ShardPlan::header_of(std::size_t count, const EachRegion& each, BlockDigest digest) {
  return measure(count, each, digest, nullptr);
}

Result<ShardPlan> ShardPlan::make(std::size_t count, const EachRegion& each, BlockDigest digest) {
  ShardPlan plan;
  plan.places_.reserve(count);
  const auto header = measure(count, each, digest, &plan.places_);
  if (!header) return fail(header.error());
  plan.header_ = *header;
  ByteWriter table(header->table_bytes);
  auto place = plan.places_.begin();
  const auto written = each([&](const RegionInfo& region) -> Status {
    put_entry(table, region, header->data_offset + place++->begin);
    return {};
  });
  if (!written) return fail(written.error());
  plan.table_ = table.take();
  plan.header_.table_crc = crc32c(plan.table_);
  return plan;
}

Result<ShardPlan> ShardPlan::make(std::span<const RegionInfo* const> regions, BlockDigest digest) {
  const auto each = [&](const std::function<Status(const RegionInfo&)>& look) -> Status {
    for (const RegionInfo* const region : regions) {
      if (auto looked = look(*region); !looked) return looked;
    }
    return {};
  };
  return make(regions.size(), each, digest).and_then([&](ShardPlan plan) -> Result<ShardPlan> {
    if (auto unique = check_names(regions); !unique) return fail(unique.error());
    return plan;
  });
}

}  // namespace cairn
