// The plan: which snapshot to return to, and for every rank where its shard comes from. A pure function of what is
// known, so every head makes the same plan without a word.
//
// It takes the newest snapshot for which every rank has a source, and for each rank the cheapest: its own
// node's store, another node's store, decoding, the global store. Sources mix; identities never do. A plan
// sources shards, not positions: a rank may have moved to another node since.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <cairn/failure_topology.hpp>

#include "base/error.hpp"
#include "base/ids.hpp"
#include "level/level.hpp"
#include "recover/inventory.hpp"

namespace cairn {

struct PlanRequest {
  const Inventory& inventory;
  const Layout& today;                    // where each rank is now
  Incarnation not_before;                 // of the newest fresh start: nothing behind it is looked at
  std::vector<std::uint32_t> lost_nodes;  // a hint: levels that cannot have survived their loss are tried last
  std::map<Rank, Delivery> arrived;       // already brought home, of the snapshot below
  Identity arrived_snapshot;
};

struct Plan {
  Identity snapshot;
  std::vector<Delivery> deliveries;  // by rank, those within one store included
  std::vector<NodeId> lost_nodes;    // nodes of the snapshot's layout that no store stands for
};

// not_found: there is no snapshot at all. unrecoverable: there are, and none is whole; the message names versions
// and missing ranks. mismatch: the newest whole one is of another number of ranks.
[[nodiscard]] Result<Plan> make_plan(const PlanRequest& request);

}  // namespace cairn
