// A process's membership in the pool of its job's live processes, through all repairs: what it waits for, how it gets
// to a meeting, and what it has become there.
//
// How all processes get to a meeting: a process that detects a failure, or finishes, revokes the pool's communicator,
// which all watch. A live process that does not come is killed and then replaced ([recovery] straggler_limit).
//
// One thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/log.hpp"
#include "config/config.hpp"
#include "mpi/host_processes.hpp"
#include "repair/muster.hpp"
#include "repair/pool_meeting.hpp"
#include "repair/unreported_deaths.hpp"

namespace cairn {

class PoolMember {
 public:
  using Neighbour = UnreportedDeaths::Neighbour;
  // `host` and `config` must outlive this object. `me`: this process, on its host.
  PoolMember(HostProcesses& host, const Config& config, const ProcessId& me, PoolLife life);
  PoolMember(const PoolMember&) = delete;
  PoolMember& operator=(const PoolMember&) = delete;

  [[nodiscard]] const PoolLife& life() const { return life_; }
  [[nodiscard]] const Member& me() const { return life_.state.roster[life_.me]; }
  // The other processes of this host.
  [[nodiscard]] const std::vector<Neighbour>& neighbours() const { return neighbours_; }

  // Whether all application ranks succeeded. Collective among them, when each has finished with a session by success or
  // failure, and once more when all succeeded. Calls `meanwhile` again and again, if there is one.
  [[nodiscard]] bool all_ranks(bool succeeded, const std::function<void()>& meanwhile = {});
  // Sleeps until a meeting begins, or `ends()`. Calls `meanwhile` again and again. Each may be empty.
  void wait_as_spare(const std::function<bool()>& ends, const std::function<void()>& meanwhile) const;
  // Collective among the live processes; to be called once the pool is revoked. Fails when the dead cannot be replaced.
  // `means`: but for while_waiting.
  [[nodiscard]] Result<PoolVerdict> meet(PoolVote vote, PoolMeeting::Means means);

 private:
  void begin_life();
  [[nodiscard]] bool a_worker_has_died() const;

  HostProcesses& host_;
  const Config& config_;
  Log log_;
  ProcessId process_;
  PoolLife life_;
  std::vector<Neighbour> neighbours_;
  std::unique_ptr<Muster> muster_;  // kills stragglers
};

}  // namespace cairn
