// Writes what a plan for a rebuild names: shards and copies from wherever the snapshot has the shard, parity from the
// shards of its group. Sources are checked as they are read. Each file is written new and renamed into place, and the
// manifest of a part last. So after a crash, what was good before is good still, and the rest can be rebuilt again.
//
// Local: no call communicates.
#pragma once

#include <cstdint>
#include <functional>

#include "base/error.hpp"
#include "format/manifest.hpp"
#include "inspect/audit.hpp"
#include "inspect/rebuild_plan.hpp"
#include "inspect/removal.hpp"
#include "inspect/survey.hpp"

namespace cairn {

// The mark of the chain to which all these stores belong. Code::mismatch: they belong to several. Code::not_found: none
// has a mark; then a store that is made for a lost node gets none.
[[nodiscard]] Result<ChainMark> common_mark(const JobStores& stores);

struct RebuildSources {
  const JobStores& stores;
  const Survey& survey;
  const SnapshotAudit& audit;  // of the plan
  Result<ChainMark> mark;      // for stores without one
};

// The caller holds the locks of the node stores. Ends at the first error, which names the file. `done`: bytes written
// so far, called every MiB.
[[nodiscard]] Status rebuild(const RebuildPlan& plan, const RebuildSources& sources, const WritableStores& stores,
                             const std::function<void(std::uint64_t done)>& done = {});

}  // namespace cairn
