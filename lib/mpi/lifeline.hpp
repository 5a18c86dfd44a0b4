// What all communicators of a session share in a job that survives failures. Whoever learns of a failure cuts the
// lifeline, which revokes them all: every call on them then fails, on every member, so that nobody waits for the
// dead or for those who have left to repair the job. MPI does not announce failures to a process that only probes or
// sleeps, so a process that waits must call watch().
//
// One thread, but for add(), remove() and adopt(), since any thread of the application may make communicators. Local:
// nothing waits.
#pragma once

#include <mpi.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "mpi/process.hpp"

namespace cairn {

class Lifeline : public std::enable_shared_from_this<Lifeline> {
 public:
  // `pool`: all live processes; its revocation is the signal to all. `world`: those whose death matters. Both stay the
  // caller's; a spare has no world.
  Lifeline(MPI_Comm pool, MPI_Comm world) : pool_(pool), world_(world) {}

  // A communicator to revoke with the others, until it is removed. It must never be freed: after a failure messages and
  // the revocation may still be on their way. They would then reach the next communicator to which MPI gives the same
  // number, and that ends the process.
  void add(MPI_Comm comm);
  void remove(MPI_Comm comm);
  // The same for a communicator that the application has made, and may free: MPI then gives its number to another one,
  // unless the lifeline is cut by then. MPI_COMM_NULL and one that is already adopted are ignored.
  void adopt(MPI_Comm comm);

  // Processes of this host whose death matters. MPI is not told of one that exits, but /proc shows that it is gone.
  void expect(std::vector<ProcessId> processes) { expected_ = std::move(processes); }
  // Whether one of them has been gone at two looks in a row, a second apart.
  [[nodiscard]] bool misses_one();

  // Checks, at most once a millisecond, whether a process has died or another one has cut its lifeline; if so, cuts.
  void watch();
  void cut();
  [[nodiscard]] bool is_cut() const { return cut_; }
  // What this process does then, after the revocations. Whoever cuts runs it.
  void once_cut(std::function<void()> then) { then_ = std::move(then); }

 private:
  using Clock = std::chrono::steady_clock;

  [[nodiscard]] bool has(MPI_Comm comm);

  MPI_Comm pool_;
  MPI_Comm world_;
  std::mutex mutex_;  // of comms_
  std::vector<MPI_Comm> comms_;
  std::vector<ProcessId> expected_;
  Clock::time_point next_look_{};
  Clock::time_point next_look_for_expected_{};
  bool missed_one_ = false;  // the last time
  std::atomic<bool> cut_ = false;
  std::function<void()> then_;
};

}  // namespace cairn
