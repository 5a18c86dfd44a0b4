// The chain: the lives of a job, each recorded in the global store with the snapshot that it restored. It determines
// which snapshots a restart may use, and whether there are snapshots to lose.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/ids.hpp"
#include "base/log.hpp"
#include "comm/comm.hpp"
#include "format/job_costs.hpp"
#include "format/manifest.hpp"
#include "format/pins.hpp"
#include "level/level.hpp"
#include "recover/branch.hpp"
#include "recover/unreadable.hpp"
#include "store/store.hpp"

namespace cairn {

// Complete snapshots in stores of all nodes, by level.
using SharedSnapshots = std::map<LevelId, std::vector<Identity>>;

struct Chain {
  Incarnation newest;            // 0: none
  Incarnation fresh_start;       // where the job's branch started fresh; 0: unknown
  bool finished = false;         // the newest life ended the chain
  bool has_snapshots = false;    // a life since the newest fresh start took some
  std::vector<Identity> global;  // complete snapshots in the global store
  // The same in other stores that all nodes share.
  SharedSnapshots elsewhere;
  std::set<RunId> past;             // lives before the newest fresh start
  std::set<RunId> present;          // lives since then
  std::optional<ChainMark> mark;    // the mark in the global store
  bool mark_unknown = false;        // there is a mark that cannot be read: it is left alone
  std::string place;                // where the global store is
  bool costs_unknown = false;       // costs.json is there and cannot be read, or has another seal: it is left alone
  std::vector<Incarnation> starts;  // all lives that started fresh, oldest first
  Branch branch;                    // that the job is on
  // By the newest such choice of all lives.
  struct ChosenAtStart {
    Version version;    // 0: there is none
    std::string label;  // by which it was chosen; empty: by its version
  } chosen_at_start;
  Version highest_version;
  RunId next;                        // drawn for the life that begins, in case two take the same number
  std::optional<JobCosts> measured;  // by earlier lives
  // As earlier runs have found.
  struct Sick {
    std::vector<NodeId> nodes;       // of today's
    std::vector<std::string> hosts;  // where no node of today is
  } sick;
  Pins pins;                           // snapshots that stay in the global store
  std::vector<Unreadable> unreadable;  // records and snapshots in the global store; known to head 0 only

  // Snapshots by the job's levels, including the level in the global store.
  [[nodiscard]] SharedSnapshots shared(const Levels& levels) const;
  // The job continues from a snapshot that was chosen in this life, possibly from before the newest fresh start.
  void choose(Incarnation life, const Choice& choice);
  // Whether a restart may restore it unasked.
  [[nodiscard]] bool has(const Identity& snapshot) const {
    return snapshot.incarnation >= fresh_start && branch.has(snapshot);
  }
  // Adds the snapshot to the list of the level, unless it is there. Requires: a level in a store that all nodes share.
  void remember(const Levels& levels, LevelId level, const Identity& snapshot);
  // Removes the snapshot from the list of the level.
  void forget(const Levels& levels, LevelId level, const Identity& snapshot);
};

// Reads the records and the directory of the global store; `sealer` is the job's, of no chain. What cannot be read is
// logged. An unreadable record counts as a record of snapshots. `known`: the chain's id from other stores, used if the
// mark does not have it. Local.
[[nodiscard]] Result<Chain> read_chain(const Store& global, const Log& log, const Sealer& sealer,
                                       std::optional<RunId> known = {});

// Adds what levels have in shared stores other than the global one; `sealer` and `known` as above. A snapshot there
// that cannot be read is logged, and counts as a snapshot that could be lost. Local.
[[nodiscard]] Status list_other_stores(const NodeContext& node, const Sealer& sealer, Chain& chain,
                                       std::optional<RunId> known = {});

// Sends all heads what head 0 has read, or its error. `elsewhere`: levels whose snapshots are in another store than the
// global one. Collective.
[[nodiscard]] Result<Chain> share_chain(Comm& heads, const Result<Chain>& mine, LevelSet elsewhere = {});

// Fails if the record has the file name of another one.
[[nodiscard]] Result<RunRecord> read_run_record(const Store& global, const FileName& name, const Sealer& sealer);
[[nodiscard]] Status write_run_record(Store& global, const RunRecord& record, const Sealer& sealer);

}  // namespace cairn
