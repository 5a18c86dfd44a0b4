// The chain: the lives of a job, each recorded in the global store with the snapshot it went on from. It says where
// a restart may look back to, and whether there is anything to lose.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "base/error.hpp"
#include "base/ids.hpp"
#include "base/log.hpp"
#include "comm/comm.hpp"
#include "format/job_costs.hpp"
#include "format/manifest.hpp"
#include "level/level.hpp"
#include "recover/unreadable.hpp"
#include "store/store.hpp"

namespace cairn {

// Complete snapshots in stores of all nodes, by level.
using SharedSnapshots = std::map<LevelId, std::vector<Identity>>;

struct Chain {
  Incarnation newest;            // 0: none
  Incarnation fresh_start;       // newest life that started fresh; 0: unknown
  bool finished = false;         // the newest life ended the chain
  bool has_snapshots = false;    // a life since the newest fresh start took some
  std::vector<Identity> global;  // complete snapshots in the global store
  // The same in other stores that all nodes share.
  SharedSnapshots elsewhere;
  std::set<RunId> past;           // lives before the newest fresh start
  std::set<RunId> present;        // lives since then
  std::optional<ChainMark> mark;  // that the global store has
  bool mark_unknown = false;      // it has one that cannot be read: it is left alone
  std::string place;              // where the global store is
  bool costs_unknown = false;     // costs.json is there and cannot be read, or has another seal: it is left alone
  Version highest_version;
  RunId next;                          // drawn for the life that begins, in case two take the same number
  std::optional<JobCosts> measured;    // by earlier lives
  std::vector<Unreadable> unreadable;  // records and snapshots in the global store; known to head 0 only

  // By the levels of the job, that of the global store too.
  [[nodiscard]] SharedSnapshots shared(const Levels& levels) const;
  // A level has the snapshot no longer.
  void forget(const Levels& levels, LevelId level, const Identity& snapshot);
};

// Reads the records and the directory of the global store; `sealer` is the job's, of no chain. What cannot be read is
// logged; a record of that kind says that there are snapshots, since it may have said so. `known`: of which chain they
// are where the mark does not say it, because other stores do. Local.
[[nodiscard]] Result<Chain> read_chain(const Store& global, const Log& log, const Sealer& sealer,
                                       std::optional<RunId> known = {});

// Adds what levels have in stores of all nodes beside the global one; `sealer` and `known` as above. A snapshot there
// that cannot be read is logged, and is something to lose. Local.
[[nodiscard]] Status list_other_stores(const NodeContext& node, const Sealer& sealer, Chain& chain,
                                       std::optional<RunId> known = {});

// What head 0 has read, told to all; or why the life could not begin there. `elsewhere`: levels whose snapshots are in
// another store than the global one. Collective.
[[nodiscard]] Result<Chain> share_chain(Comm& heads, const Result<Chain>& mine, LevelSet elsewhere = {});

// A record is refused under the name of another.
[[nodiscard]] Result<RunRecord> read_run_record(const Store& global, const FileName& name, const Sealer& sealer);
[[nodiscard]] Status write_run_record(Store& global, const RunRecord& record, const Sealer& sealer);

}  // namespace cairn
