// The input for opening a session: the ranks, access to the stores, and what is known of the life before.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <cairn/failure_topology.hpp>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/host_state.hpp"
#include "comm/comm.hpp"
#include "config/config.hpp"
#include "level/level.hpp"
#include "recover/store_memory.hpp"
#include "rollback/logged_rank.hpp"
#include "session/handover.hpp"
#include "session/world_mode.hpp"
#include "store/store.hpp"
#include "topology/topology.hpp"

namespace cairn {

namespace rollback {
class Repairs;
}

// Makes an application rank of which the messages are logged. `repairs` must outlive it.
using MakeLoggedRank = std::function<std::unique_ptr<rollback::LoggedRank>(rollback::LoggedRank::Setting setting,
                                                                           rollback::Repairs& repairs)>;

// What is known already if a job repairs itself while it runs: the loss of a peer then makes all ranks roll back, and
// is not an error.
struct RepairedWorld {
  Config config;
  std::vector<Seat> seats;  // by world rank
};

// Called on rank 0 when the session was opened, and when the job has ended or must end: reports it to ckpt-run.
// `config`: the session's, which distinguishes it from other sessions of the same launch.
using LeaveMark = std::function<void(const Config& config, const CompletionMark& mark)>;

struct Environment {
  Comm& world;  // the caller's; must outlive the session
  std::string host;
  // When the opening began, for the trace.
  std::chrono::steady_clock::time_point begun = std::chrono::steady_clock::now();
  std::string config_file;  // read on world rank 0; empty: defaults
  std::function<Result<std::shared_ptr<Store>>(const Config&, const Topology&, NodeId)> open_local;
  std::function<Result<std::shared_ptr<Store>>(const Config&)> open_global;
  // Whether a thread may communicate beside this one: [head] mode = thread needs it.
  bool threads_may_communicate = false;
  FailureTopology failures;
  Clock clock;
  // What this process remembers of its node's store; the next session gets it too. Null: nothing.
  std::shared_ptr<StoreMemory> memory;
  LeaveMark leave_mark = {};  // empty: no reports
  std::optional<RepairedWorld> repaired = std::nullopt;
  // Where the job repairs itself: this process's part in that. It must outlive the session.
  rollback::Repairs* repairs = nullptr;
  // Empty: this library has no local rollback.
  MakeLoggedRank logs_messages = {};
  // The processes that were started for this session, which must have exactly these; none: unknown.
  std::optional<StartedNumbers> started = std::nullopt;
  // Only some of the job's processes open this session.
  bool is_part = false;
  // That of another session of the same ranks, which has the heads: this one has none. None: there is no such session.
  std::optional<std::string> served_job = std::nullopt;
  // ckpt-run has started the job, but not these processes: a rank of the job has.
  bool by_a_rank = false;
  // An earlier life of this run has taken snapshots: mode = fresh was for the first life, and no longer applies.
  bool goes_on = false;
  // Whether an earlier life of this run has finished this job. If another session of the run makes it start again, it
  // restores its last snapshot and does not start from the beginning. Empty: it has not.
  std::function<bool(const Config& config)> has_ended = {};
  // A directory of deaths that ckpt-run has planned (session/rehearsal); empty: none are.
  std::string rehearsal = {};
  // This one's number on its host; 0: not known.
  std::int32_t process = 0;
  // Makes the table of levels for each head.
  std::function<Levels()> levels = make_levels;
  WorldMode world_mode = {};
  // What the application's ranks do, all of them, while their heads open. `ranks`: Cairn's communicator of them. Empty:
  // nothing.
  std::function<void(Comm& ranks)> meanwhile = {};
  // How heads look at their host.
  LookAtHost look_at_host = [] { return cairn::look_at_host(); };
};

}  // namespace cairn
