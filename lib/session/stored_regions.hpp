// What stored() answers: how many elements regions have in a snapshot, on this rank and on all.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/error.hpp"
#include "comm/comm.hpp"
#include "format/shard.hpp"

namespace cairn {

// A region in some shards.
struct StoredRegion {
  std::uint64_t elements = 0;
  std::uint64_t steps = 0;   // of its first dimension; of a single value 1
  std::uint64_t shards = 0;  // that have it

  // As the region is in each of these shards.
  [[nodiscard]] std::uint64_t elements_in_step() const { return steps == 0 ? 0 : elements / steps; }
};
using StoredRegions = std::map<std::string, StoredRegion>;  // by name

void add(const Shard& shard, StoredRegions& regions);
// Of all ranks together. Collective.
[[nodiscard]] Result<StoredRegions> add_up(Comm& ranks, const StoredRegions& mine);

}  // namespace cairn
