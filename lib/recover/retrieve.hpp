// Brings the newest recoverable snapshot to the stores of its ranks' nodes, or, if the job has another number of ranks,
// to the nodes that the plan chooses. Plans, lets the levels execute the plan,
// verifies the files that arrived, strikes bad files, and plans again until all shards are there. Collective among
// heads.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "comm/comm.hpp"
#include "level/level.hpp"
#include "recover/chain.hpp"
#include "recover/inventory.hpp"
#include "recover/plan.hpp"

namespace cairn {

// What retrieval knows and learns; kept between attempts.
struct RetrieveState {
  Inventory inventory;
  std::vector<NodeManifest> manifests;  // of this node's store
  Incarnation not_before;
  bool verify_own = false;                // also the SHA-256 of shards that never moved
  std::vector<std::uint32_t> lost_nodes;  // a hint, see FailureTopology
  std::map<Rank, Delivery> arrived;       // of the snapshot below; the same on all heads
  Identity snapshot;
  std::map<Rank, ShardEntry> entries;     // of shards that have arrived at this node
  std::uint32_t rounds_without_news = 0;  // rounds that left shards to bring, but struck no new file; same on all heads
  bool elastic = false;                   // see PlanRequest, also for `ranks`
  std::map<Identity, std::uint32_t> ranks = {};
  Version chosen = {};  // the same
  Branch branch = {};
  // Of snapshots in shared stores that a plan has used; known to head 0 only.
  std::map<Identity, SnapshotNotes> shared_notes = {};
  bool brings_aside = false;  // into names::brought(), which was emptied for it
  bool aside = false;         // see Plan
  std::set<Identity> rejected = {};

  [[nodiscard]] std::vector<ShardEntry> own_shards() const;
};

// Errors are those of make_plan(), or of a store that cannot take the shards; the same on all heads.
[[nodiscard]] Result<Plan> retrieve(Comm& heads, const NodeContext& node, RetrieveState& state);

// Called after ranks found damage in shards that had arrived: strikes the shards and forgets their arrival, in the same
// way on all heads. Returns whether there were any. Collective.
[[nodiscard]] Result<bool> forget_damaged(Comm& heads, RetrieveState& state, const std::vector<Rank>& damaged,
                                          const std::vector<Strike>& strikes);

// Where it is read in this node's store. Requires: it goes to this node.
[[nodiscard]] FileName home_of(const NodeContext& node, const Plan& plan, Rank rank);
// Strikes that file.
[[nodiscard]] Strike strike_at_home(const NodeContext& node, const Plan& plan, Rank rank);
// Removes what lies there beside the snapshot, if anything does.
void remove_brought(const NodeContext& node);

// Where a rank's shard came from, for a person: "L2, copy on node 2".
[[nodiscard]] std::string describe_source(const Levels& levels, const Delivery& delivery);

}  // namespace cairn
