// The way back from L3: shards of lost nodes are decoded at the nodes that need them, from chunks and parity
// streamed by those that still have them. Only the byte range of the shards that are needed is moved.
#pragma once

#include <vector>

#include "level/level.hpp"

namespace cairn {

// Executes the erasure deliveries of a task. Collective.
[[nodiscard]] Result<RestoreOutcome> decode_deliveries(Comm& heads, const NodeContext& node, const RestoreTask& task);

}  // namespace cairn
