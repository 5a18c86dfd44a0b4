// Kills processes of this host that have been stopped (SIGSTOP, a frozen cgroup's signal, a debugger) for too long, so
// that spares replace them. A process that computes for a long time is not stopped. Every process of a host guards all
// others, because any of them may be stopped. Runs in its own thread, which never calls MPI.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <thread>
#include <vector>

#include "base/log.hpp"
#include "mpi/process.hpp"

namespace cairn {

class HangGuard {
 public:
  HangGuard(std::vector<ProcessId> others, std::chrono::milliseconds timeout, Log log);

 private:
  struct Other {
    ProcessId process;
    std::chrono::steady_clock::time_point last_seen_running;
  };
  void guard(const std::stop_token& stop);

  std::vector<Other> others_;
  std::chrono::milliseconds timeout_;
  Log log_;
  std::mutex mutex_;
  std::condition_variable_any stopping_;
  std::jthread thread_;  // last: it uses the others
};

}  // namespace cairn
