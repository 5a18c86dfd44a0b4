// Removes snapshots from the stores of a job that does not run: which of them, and in which order. A running job
// removes its own snapshots (recover/catalog).
//
// A file of a newer format, with another seal, or that cannot be read now is never removed. Neither is a snapshot of
// which any manifest is such a file.
//
// Local: no call communicates.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "base/error.hpp"
#include "base/ids.hpp"
#include "inspect/survey.hpp"
#include "store/store.hpp"

namespace cairn {

// The directory of a snapshot in one store.
struct StoredPart {
  StoreId holder;
  DirName dir;
  bool has_manifest = false;  // which may be damaged
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;
};

// A snapshot that goes, in all stores that have something of it.
struct Removal {
  enum class Why {
    chosen,      // by its version
    old,         // enough newer ones are recoverable
    incomplete,  // it is not recoverable, or a restart does not use it, and a newer one is recoverable
    unfinished,  // it has no manifest: its writing or its removal never ended
    damaged,     // no manifest of it is good, and a newer one is recoverable
  };
  Identity snapshot;  // incarnation 0: not known, because no manifest can be read
  Why why = Why::chosen;
  bool recoverable = false;
  std::vector<StoredPart> parts;
};

struct RemovalPlan {
  std::vector<Removal> removals;  // in the order in which they go: oldest first
  std::vector<Identity> kept;     // recoverable ones that stay, newest first
  std::vector<Finding> spared;    // manifests that cannot be judged; without them, their snapshots would go
  std::vector<Identity> pinned;   // those that stay for this reason alone
  LevelSet levels_lost;           // a snapshot that goes is whole there, and none that stays
  // No recoverable snapshot would be left, or none that a restart uses. Those that go may need nodes that are not here.
  bool takes_last = false;
};

// Whether the stores include those of all nodes of the newest snapshot. If not, the job may run on other hosts, and
// locks of these stores do not show that.
[[nodiscard]] bool sees_all_nodes(const Survey& survey);

// Whether pinned snapshots may be removed.
enum class Pinned { stay, go };
// Code::mismatch: the stores belong to different chains of snapshots.
[[nodiscard]] Result<RemovalPlan> plan_deletion(const JobStores& stores, const Survey& survey,
                                                const std::set<Version>& versions, Pinned pinned = Pinned::stay);
// Pinned snapshots stay. The `keep` newest recoverable snapshots stay, by the rules of recover/retention. Of the
// others, those that are not older than a recoverable one stay too, and those that other nodes may make recoverable.
[[nodiscard]] Result<RemovalPlan> plan_pruning(const JobStores& stores, const Survey& survey, std::uint32_t keep);

// All stores that the plan names. The caller holds the locks of node stores, so no run of the job can begin there.
using WritableStores = std::map<StoreId, std::shared_ptr<Store>>;

// Of each snapshot, the manifests in node stores go first, then what stores of all nodes have, each in one step, and
// last the files in node stores. So a crash leaves no manifest of which a file is gone. Ends at the first error; `done`
// is called after each snapshot.
[[nodiscard]] Status remove_snapshots(const RemovalPlan& plan, const WritableStores& stores,
                                      const std::function<void(const Removal&)>& done);

}  // namespace cairn
