// The stores of a job seen from outside, by a program that takes no part in the job: which snapshots are there, at
// which levels, and what a restart could restore. Reads manifests and lengths of files, no data, so it is quick.
// Nothing is written or locked, so a running job is not disturbed, and files that disappear meanwhile have been
// retired.
//
// Local: no call communicates.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/ids.hpp"
#include "format/manifest.hpp"
#include "recover/inventory.hpp"
#include "recover/plan.hpp"
#include "store/store.hpp"

namespace cairn {

struct JobStores {
  std::vector<std::shared_ptr<const Store>> nodes;  // in any order; StoreId::node() is a position here
  std::shared_ptr<const Store> global;              // null: none
  Sealer sealer = {};                               // of the job's chain marks
  Levels levels = make_levels();                    // that the job has

  std::map<StoreId, std::shared_ptr<const Store>> elsewhere = {};  // of levels that have a store of their own

  [[nodiscard]] const Store& at(StoreId holder) const;
  [[nodiscard]] bool has(StoreId holder) const;
  // For everything else in that store, by its chain mark as it is now. A store of all nodes other than the global one
  // has no mark; the mark of the global one counts for it.
  [[nodiscard]] Sealer sealer_at(StoreId holder) const;
  [[nodiscard]] std::string path_of(StoreId holder, const FileName& file) const;
};

// What became of one file, or of one node's part, when it was looked at.
struct Finding {
  enum class State {
    good,
    damaged,     // it is there, and is not what was written
    missing,     // a manifest names it, and it is not there
    retired,     // its snapshot went away meanwhile: nothing is wrong
    newer,       // of a format that this Cairn does not read
    untrusted,   // not sealed with the given key, or sealed with a key and none is given
    unreadable,  // reading it failed, so it is not known whether it is good
  };
  State state = State::good;
  Identity snapshot;  // of a run record: its life, without a version
  StoreId holder;
  FileName file;                 // empty: no store stands for a node
  std::optional<LevelId> level;  // none: a manifest or a run record
  std::vector<Rank> ranks;       // whose data it is; empty: of no rank in particular
  std::uint64_t bytes = 0;
  std::string where;  // the file's path, or "node 3"
  std::string what;   // in words, when it is not good
};

// The directory of a snapshot that has no manifest in some node stores: it is being written or removed there, or its
// writing never ended. A restart ignores it.
struct Ignored {
  DirName dir;
  Version version;
  std::vector<StoreId> holders;
};

struct Survey {
  std::vector<std::vector<NodeManifest>> by_store;  // as JobStores::nodes
  // What stores of all nodes have, by level.
  std::map<Identity, std::map<LevelId, std::shared_ptr<const SharedSnapshot>>> shared;
  std::vector<RunRecord> runs;    // newest first
  std::vector<Finding> findings;  // what is not good; every file whose length is wrong is struck from the inventory
  std::vector<Ignored> ignored;   // newest first
  Inventory inventory;
  Incarnation fresh_start;  // of the job's branch: a restart looks at nothing older
  Branch branch;            // a restart looks at nothing that was abandoned
  Pins pins;                // they stay in the global store

  // Whether a restart may restore it unasked.
  [[nodiscard]] bool may_restore(const Identity& snapshot) const {
    return snapshot.incarnation >= fresh_start && branch.has(snapshot);
  }

  [[nodiscard]] std::vector<StoreId> node_stores() const;
  // Of a snapshot that no store of all nodes has: empty.
  [[nodiscard]] const std::map<LevelId, std::shared_ptr<const SharedSnapshot>>& shared_of(
      const Identity& snapshot) const;
};

[[nodiscard]] Result<Survey> take_survey(const JobStores& stores);

// How far a snapshot got at a level: on how many of its nodes.
struct Reach {
  std::uint32_t held = 0;
  std::uint32_t of = 0;
  [[nodiscard]] bool complete() const { return of != 0 && held == of; }
};

struct SnapshotView {
  Identity identity;
  Layout layout;                    // the newest of its layouts
  std::map<LevelId, Reach> levels;  // each by the layout that got furthest; those in node stores need own shards too
  std::vector<NodeId> absent;       // nodes of the layout that no store stands for; none when only L4 has the snapshot
  std::uint64_t bytes = 0;          // of all ranks' shards, as far as they are known
  SnapshotNotes notes;
  [[nodiscard]] Reach at(LevelId level) const {
    const auto found = levels.find(level);
    return found == levels.end() ? Reach{} : found->second;
  }
};

// Newest first.
[[nodiscard]] std::vector<SnapshotView> view_snapshots(const Survey& survey);

// What manifests say of the snapshot's shards, wherever they name them.
[[nodiscard]] std::map<Rank, ShardEntry> entries_of(const Survey& survey, const Identity& snapshot);

// Where every rank's shard would come from if this snapshot were restored.
struct Recovery {
  bool possible = false;
  std::vector<Delivery> sources;  // by rank; if it is not possible: of the ranks that have one
  std::string why_not;
};
[[nodiscard]] Recovery plan_recovery(const Survey& survey, const SnapshotView& snapshot);

// Whether the global store has the record of the life that took the snapshot, readable or not.
[[nodiscard]] bool has_record(const Survey& survey, const Identity& snapshot);

// The snapshot's manifest in a node store as surveyed; null: it has none.
[[nodiscard]] const NodeManifest* find_manifest(const Survey& survey, StoreId holder, const Identity& snapshot);

// Turns the error of reading a file into a finding: missing, damaged, of a newer format, untrusted or unreadable.
[[nodiscard]] Finding describe_failure(const JobStores& stores, const Identity& snapshot, StoreId holder,
                                       const FileName& file, const Error& error);

}  // namespace cairn
