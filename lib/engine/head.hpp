// What all parts of an engine share: the node that it acts for, its ways to the other heads and to the node's ranks,
// what the job was asked to do, and what ranks wait for. Owned by the Engine, which outlives its parts. One thread.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "comm/comm.hpp"
#include "engine/head_mail.hpp"
#include "engine/messages.hpp"
#include "engine/storage_trouble.hpp"
#include "level/level.hpp"
#include "localize/action.hpp"
#include "localize/tree.hpp"
#include "recover/retention.hpp"
#include "topology/layout.hpp"
#include "topology/topology.hpp"

namespace cairn {

// What the engine takes from the configuration.
struct EngineOptions {
  std::string job;
  LayoutWishes wishes;
  KeepCounts keep;
  enum class Start { automatic, fresh, required } start = Start::automatic;
  bool finished_at_end = true;  // else the chain goes on
  bool after_end = false;       // a chain that has finished goes on all the same
  bool keeps_calls = false;     // ranks of the node continue, and record MPI calls in the same files as before
  bool records_calls = false;   // ranks record their MPI calls
  bool verify_own = false;
  bool log_storage_errors = false;  // of snapshots: no call of the application throws them
  bool elastic = false;             // a snapshot of another number of ranks is restored
  LevelSet off = {};                // levels that the user has turned off
  bool level_by_level = false;      // the level to restart from is found by trying them (recover/level_rounds)
  bool is_in_world = true;          // the application's MPI_COMM_WORLD has heads
  std::uint32_t threads = 1;        // that this head may use, its own included
  struct Localize {
    bool on = false;
    std::uint32_t fanout = localize::kDefaultFanout;
    std::uint32_t threshold = localize::kDefaultThreshold;
    std::chrono::milliseconds window = localize::kDefaultWindow;
    std::string rules;  // file; empty: the default rules
    WaitLimit stuck_after = kForever;
    WaitLimit silent_after = kForever;
    localize::Act act = localize::Act::tell;
  } localize;
};

// What ranks of the node have asked for, and have no answer to yet. What a rank says arrives in order: one that waits
// for a restore, or for the end, seals nothing meanwhile.
struct Requests {
  std::set<Rank> hellos;
  std::optional<Error> hello_error;
  std::map<Rank, RestoreRequest> restore;
  std::map<Rank, RestoreResult> restore_results;
  std::map<Rank, FinalizeRequest> finalize;

  [[nodiscard]] bool waits(Rank rank) const { return restore.contains(rank) || finalize.contains(rank); }
  // Ended its session without the others: it does not answer any more.
  [[nodiscard]] bool has_left(Rank rank) const {
    const auto request = finalize.find(rank);
    return request != finalize.end() && request->second.abandoned;
  }
};

struct Head {
  Comm& control;  // ranks and heads, by world rank
  Comm& heads;    // member i is the head of node i
  const Topology& topology;
  EngineOptions options;
  Clock clock;
  HeadMail mail;
  std::unique_ptr<Comm> votes = {};  // the same members; carries votes only; null until the ranks have been answered
  NodeContext node = {};
  std::vector<Rank> ranks = {};                 // of this node
  std::map<Rank, std::int32_t> processes = {};  // of those ranks, on their hosts; where it is known
  LevelSet usable = {};                         // by today's layout
  std::shared_ptr<Bell> bell = {};              // null until the store is open
  Requests requests = {};
  Layout first_layout = {};           // with which the life began: shards are sealed under it
  std::set<NodeId> sick = {};         // found in this life, as far as this head knows: they are to be avoided
  StorageTrouble trouble = {};        // that this head has met
  std::optional<RankLeft> left = {};  // of any node; of several ranks, the one that made the fewest calls

  [[nodiscard]] Identity identity(Version version) const { return {node.incarnation, version, node.run}; }
  // The rank in whose process this engine runs; none: a dedicated head.
  [[nodiscard]] std::optional<Rank> own_rank() const;
  // Whether that one has left its session.
  [[nodiscard]] bool is_dropped() const;
  [[nodiscard]] RankLeft left_by(Rank rank, const FinalizeRequest& last) const {
    return {rank, node.me, last.version, last.calls, last.ended_mpi};
  }

  void tell(Rank rank, const ToRank& message);
  // Does not wait: meant for short messages, which MPI sends at once.
  void send_to_other_heads(const ToHead& message);
  // Every rank of the node; wakes them.
  void tell_all(const ToRank& message);
  // A rank of any node has left its session: its head told this one, or a vote did.
  void heed(const RankLeft& its_leave);
  // Once for the whole job: by one of the heads that met it, which knows the cause.
  void log_storage_error(bool here, LevelId level, const Error& error);
  // A snapshot has reached the level.
  void log_storage_recovery(LevelId level, Version version);
};

}  // namespace cairn
