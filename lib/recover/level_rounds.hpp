// Finds a level to restart from without knowledge of the failure, as other libraries do. From L1 up, every head checks
// the files that a level needs from it, and all heads agree by one reduction per level. The first level that can
// restore all shards wins. Used with [restart] use_failure_topology = off; with the failure topology, none of this work
// is needed.
#pragma once

#include <optional>
#include <vector>

#include "base/error.hpp"
#include "comm/comm.hpp"
#include "level/level.hpp"
#include "recover/chain.hpp"
#include "recover/inventory.hpp"

namespace cairn {

// Tries the newest snapshot of each level, but none of a life before `not_before`. It takes them from `common`, which
// is what every store holds that is not empty, or for L4 from the chain. As soon as a level is whole, returns which
// stores hold nothing, by head. None: no level is whole, or a file is missing or wrong; then only an inventory can
// help. Reads only the header of each file. The result is the same on all heads; an error means that a head was lost.
// Collective.
[[nodiscard]] Result<std::optional<std::vector<bool>>> try_levels(Comm& heads, const NodeContext& node,
                                                                  const StoreContents& mine, const HoldingList& common,
                                                                  const Chain& chain, Incarnation not_before);

}  // namespace cairn
