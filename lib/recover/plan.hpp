// The plan: which snapshot to restore, and for every rank the source of its shard. A pure function of the inventory, so
// every head makes the same plan without communication.
//
// It takes the newest snapshot of the job's branch, or of the chosen version, for which every rank has a source. Each
// rank gets the cheapest: its own node's store, another node's store, decoding, the global store. Ranks may have
// different sources, but always the same snapshot. A plan names the sources of shards independent of the nodes of
// ranks: a rank may have moved since.
//
// A snapshot may have another number of ranks than the job, if the request allows it. Then the shard of each of its
// ranks goes to a node where the job has ranks today. That is a node that has it, or else one whose ranks need it
// (recover/shard_homes).
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <cairn/failure_topology.hpp>

#include "base/error.hpp"
#include "base/ids.hpp"
#include "level/level.hpp"
#include "recover/branch.hpp"
#include "recover/inventory.hpp"

namespace cairn {

struct PlanRequest {
  const Inventory& inventory;
  const Layout& today;                    // where each rank is now
  Incarnation not_before;                 // of the newest fresh start: no older life is considered
  std::vector<std::uint32_t> lost_nodes;  // a hint: levels that cannot have survived their loss are tried last
  std::map<Rank, Delivery> arrived;       // already restored to their nodes' stores, of the snapshot below
  Identity arrived_snapshot;
  bool elastic = false;                          // also snapshots of another number of ranks
  std::map<Identity, std::uint32_t> ranks = {};  // of snapshots whose layout no node store knows, if it is known
  Version chosen = {};                           // only that one, of any branch; 0: the newest of the branch
  Branch branch = {};
  bool aside = false;                // see Plan
  std::set<Identity> rejected = {};  // by the program: not even if one is chosen
};

struct Plan {
  Identity snapshot;
  std::vector<Delivery> deliveries;  // by rank of the snapshot, those within one store included
  std::vector<NodeId> lost_nodes;    // nodes of the snapshot's layout whose part no store has
  bool of_other_ranks = false;       // the job has another number of ranks today
  // What is brought does not become a part of the snapshot in the stores, but lies beside it: see level/level,
  // home_of().
  bool aside = false;
};

// What can be restored of one snapshot, which was written by as many ranks as the job has today, whatever other
// snapshots there are.
struct PlanOfOne {
  Plan plan;
  std::vector<std::uint32_t> missing;  // ranks that have no source
  // "no source for ranks 2, 3 (node 1 is lost)"
  [[nodiscard]] std::string missing_text() const;
};
[[nodiscard]] PlanOfOne make_plan_of(const PlanRequest& request, const Identity& snapshot);

// not_found: there is no snapshot at all. unrecoverable: no snapshot is recoverable; the message names versions and
// missing ranks. version_unavailable: the chosen one is not recoverable; the message names those that are. mismatch:
// the newest recoverable one was written by another number of ranks, which is not allowed.
[[nodiscard]] Result<Plan> make_plan(const PlanRequest& request);

[[nodiscard]] Error wrong_number_of_ranks(const Identity& snapshot, std::size_t wrote, std::size_t ranks);

}  // namespace cairn
