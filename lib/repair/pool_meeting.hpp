// A meeting of the live processes of a pool. They agree whether the job is over. If not, they form a new pool, in which
// spares or newcomers replace the dead processes, and make the communicators of its next life.
//
// A repair ends in an agreement: either all survivors have the new pool, or none has it. Then they try again without
// the processes that died meanwhile. So whichever process dies at whichever step, all survivors get the same state.
//
// One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "base/log.hpp"
#include "config/config.hpp"
#include "mpi/process.hpp"
#include "mpi/ulfm_comm.hpp"
#include "repair/decision.hpp"
#include "repair/pool_state.hpp"

namespace cairn {

// The communicators of one life.
struct Team {
  UlfmComm::Ptr world;    // application ranks in order, then heads; null for a spare
  UlfmComm::Ptr ranks;    // the application ranks of it, for their agreements
  UlfmComm::Ptr helpers;  // the replacement of the only lost rank, as member 0, and spares that can help it
  UlfmComm::Ptr alarm;    // all of the pool; a process that detects a repair revokes it
};

// What a process has between two repairs.
struct PoolLife {
  UlfmComm::Ptr pool;
  PoolState state;       // the same on all members of the pool
  std::uint32_t me = 0;  // number of this process in the roster
  Team team;
  std::vector<ProcessId> processes;  // by number in the roster
  PoolVerdict verdict;               // of the meeting that it began with
};

// The first life of a job, in which nobody has died. Collective over `pool`, by the roster of `state`.
[[nodiscard]] Result<PoolLife> first_life(UlfmComm::Ptr pool, PoolState state, const ProcessId& me);

class PoolMeeting {
 public:
  // What a meeting needs of its process. Each may be empty.
  struct Means {
    Meanwhile while_waiting = {};  // called in the wait for those that come late
    // A step begins, which should not take long. `name`: as in "shrinking the pool".
    std::function<void(const std::string& name)> begin_step = {};
    std::function<Buffer(const PoolState& state)> news = {};  // for new processes; the same on all
  };
  // `config` must outlive this object.
  PoolMeeting(const Config& config, const ProcessId& me, PoolVote vote, Means means);

  // Whether the job is over: a process votes that it is done. The first step of a meeting. There is no limit, because
  // some ranks may still compute. Collective among the live processes.
  [[nodiscard]] Result<bool> is_over(const PoolLife& life) const;
  // The next one. Collective among the live processes. Fails when the dead cannot be replaced.
  [[nodiscard]] Result<PoolLife> repair(PoolLife life);
  // In newcomers: completes the repair that has started them. `life`: the pool, the state and the number.
  [[nodiscard]] Result<PoolLife> join(PoolLife life);

 private:
  void begin_step(const char* name) const;
  [[nodiscard]] Result<bool> settle(PoolLife& life) const;
  [[nodiscard]] Result<Decision> gather(const PoolLife& life) const;
  [[nodiscard]] Result<std::set<NodeId>> share_sick(const PoolLife& life) const;
  [[nodiscard]] Result<Decision> decide_and_grow(PoolLife& life) const;
  [[nodiscard]] Result<Decision> if_all_have_one(UlfmComm& pool, Result<Decision> mine) const;
  void adopt(PoolLife& life, const Decision& decision, Team team) const;

  const Config& config_;
  ProcessId me_;
  PoolVote vote_;
  Means means_;
  Log log_;
};

}  // namespace cairn
