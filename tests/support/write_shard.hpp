// Shards from regions at hand: plans and writes in one go, as a first snapshot does.
#pragma once

#include <vector>

#include "format/shard.hpp"
#include "format/shard_plan.hpp"

namespace cairn::test {

struct RegionData {
  RegionInfo info;
  Bytes bytes;  // info.size_bytes() long; the caller's
};

inline Result<ShardPlan> plan_shard(const std::vector<RegionData>& regions, BlockDigest digest = BlockDigest::sha256) {
  std::vector<const RegionInfo*> infos;
  for (const RegionData& region : regions) infos.push_back(&region.info);
  return ShardPlan::make(infos, digest);
}

inline Result<std::uint64_t> write_shard(Store& store, const FileName& name, const ShardIdentity& who,
                                         const std::vector<RegionData>& regions,
                                         BlockDigest digest = BlockDigest::sha256) {
  const auto plan = plan_shard(regions, digest);
  if (!plan) return fail(plan.error().in(name.path));
  std::vector<Bytes> bytes;
  for (const RegionData& region : regions) bytes.push_back(region.bytes);
  return cairn::write_shard(store, name, who, *plan, bytes);
}

}  // namespace cairn::test
