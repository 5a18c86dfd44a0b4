// Ends the job when a step of a repair takes too long, because some waits inside MPI have no limit. The message names
// the step; ckpt-run then starts the job again. The destructor cancels the watchdog.
#pragma once

#include <mpi.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace cairn {

class Watchdog {
 public:
  // `comm`: for MPI_Abort. `first` runs before the abort, on another thread than the one that is stuck.
  Watchdog(MPI_Comm comm, std::chrono::milliseconds limit, const std::string& step, std::function<void()> first = {});
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  // The next step begins, and its time starts. `name`: as in "shrinking the pool".
  void step(const std::string& name);

 private:
  void guard();

  MPI_Comm comm_;
  std::chrono::milliseconds limit_;
  std::function<void()> first_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string step_;
  std::chrono::steady_clock::time_point deadline_;
  bool called_off_ = false;
  std::thread thread_;
};

}  // namespace cairn
