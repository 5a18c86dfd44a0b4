// What must survive, told from the placement alone and without the planner: the judge of the tests of losses.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "base/ids.hpp"
#include "topology/layout.hpp"

namespace cairn::test {

using Losses = std::set<std::uint32_t>;  // nodes whose store is gone

[[nodiscard]] Losses losses_of(std::uint32_t bits);

// Ranks whose shards nothing can give back when a snapshot that is complete at `levels`, its L2 copies in placement
// `turn`, loses these nodes.
[[nodiscard]] std::vector<std::uint32_t> ranks_beyond_rescue(const Layout& layout, LevelSet levels, std::uint64_t turn,
                                                             const Losses& lost);

}  // namespace cairn::test
