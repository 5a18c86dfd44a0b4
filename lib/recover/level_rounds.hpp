// Finding a level to restart from as libraries do that know nothing of the failure: from L1 up, every head looks at
// what a level needs of it, file by file, and all agree with one reduction a level, until a level can give everything
// back. This is [restart] use_failure_topology = off; the failure topology spares all of it.
#pragma once

#include <optional>
#include <vector>

#include "base/error.hpp"
#include "comm/comm.hpp"
#include "level/level.hpp"
#include "recover/chain.hpp"
#include "recover/inventory.hpp"

namespace cairn {

// Looks at the newest snapshot of each level in `common`, which is what all stores hold that hold anything, or of the
// chain's for L4; none of a life before `not_before`. The stores that hold nothing, by head, once a level is whole.
// None: no level is, or a file is missing or not what it should be; then only an inventory can tell. Reads of each file
// no more than its header. The same on all heads; an error is the loss of one. Collective.
[[nodiscard]] Result<std::optional<std::vector<bool>>> try_levels(Comm& heads, const NodeContext& node,
                                                                  const StoreContents& mine, const HoldingList& common,
                                                                  const Chain& chain, Incarnation not_before);

}  // namespace cairn
