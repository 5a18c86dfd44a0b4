// What the node stores of a job lack of one snapshot, and can get back from what is left: damaged and missing shards,
// copies and parity, damaged manifests, and the whole part of a node whose store is lost, if there is a store for it. A
// job does the same when it restores the snapshot; this is for a job that does not run. Pure.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "base/error.hpp"
#include "base/ids.hpp"
#include "format/manifest.hpp"
#include "inspect/audit.hpp"
#include "inspect/survey.hpp"
#include "level/named_file.hpp"
#include "store/store.hpp"

namespace cairn {

// A node's part of the snapshot in its store.
struct RebuiltPart {
  StoreId holder;
  NodeId node;
  NodeManifest manifest;          // as it will be; new parity has no digest yet
  bool changes_manifest = false;  // it has to be written, even if no parity changes it
  std::vector<FileName> files;    // of those that it names: they are made
  std::uint64_t bytes = 0;        // of these
};

// Why something stays as it is.
struct NotRebuilt {
  enum class Why {
    no_source,       // the ranks of `finding` have none: the snapshot is lost
    cannot_judge,    // a manifest, or a file that it names, may be good: `finding`
    no_store,        // no store here stands for `nodes`
    which_store,     // stores that have other files of the job could be those of `nodes`
    several_turns,   // copies were placed by different promotions, so those of `nodes` are not known
    in_shared_store  // a damaged file of a store that all nodes share: `finding`
  } why = Why::no_source;
  std::vector<NodeId> nodes = {};
  Finding finding = {};
};

struct RebuildPlan {
  Identity snapshot;
  std::vector<RebuiltPart> parts;  // with something to do, by store
  std::vector<NotRebuilt> left;
  [[nodiscard]] std::uint64_t bytes() const;
  [[nodiscard]] std::uint64_t files() const;
};

// The audit is of the same stores as the survey.
[[nodiscard]] RebuildPlan plan_rebuild(const JobStores& stores, const Survey& survey, const SnapshotAudit& audit);

}  // namespace cairn
