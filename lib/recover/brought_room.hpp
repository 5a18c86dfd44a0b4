// Whether the shards that a plan brings to nodes of another number of ranks fit into the stores there.
#pragma once

#include <functional>
#include <vector>

#include "base/error.hpp"
#include "comm/comm.hpp"
#include "level/level.hpp"
#include "recover/plan.hpp"

namespace cairn {

// What one head knows of the sizes of a snapshot's shards.
struct KnownShards {
  const NodeManifest* manifest = nullptr;  // of its node's store; null: nothing is there
  std::vector<ShardEntry> shared;          // as a store of all nodes names them, if this head has looked
};

// Code::no_space on all heads if a node has too little room; the message names it, what is needed and what is free.
// `is_there`: whether the rank's shard need not be brought any more. Collective.
[[nodiscard]] Status check_room_for_brought(Comm& heads, const NodeContext& node, const Plan& plan,
                                            const KnownShards& known, const std::function<bool(Rank)>& is_there);

}  // namespace cairn
