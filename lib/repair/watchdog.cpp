#include "repair/watchdog.hpp"

#include <csignal>
#include <cstdlib>
#include <utility>

#include "base/log.hpp"

namespace cairn {

Watchdog::Watchdog(MPI_Comm comm, std::chrono::milliseconds limit, const std::string& step, std::function<void()> first)
    : comm_(comm),
      limit_(limit),
      first_(std::move(first)),
      step_(step),
      deadline_(std::chrono::steady_clock::now() + limit),
      thread_([this] { guard(); }) {}

Watchdog::~Watchdog() {
  {
    const std::lock_guard lock(mutex_);
    called_off_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Watchdog::step(const std::string& name) {
  const std::lock_guard lock(mutex_);
  step_ = name;
  deadline_ = std::chrono::steady_clock::now() + limit_;
}

void Watchdog::guard() {
  std::unique_lock lock(mutex_);
  while (!called_off_) {
    changed_.wait_until(lock, deadline_);
    if (called_off_ || std::chrono::steady_clock::now() < deadline_) continue;
    Log(LogLevel::error)
        .error("the repair did not finish: {} takes longer than {} ms ([recovery] limit). The job ends", step_,
               limit_.count());
    if (first_) first_();
    // The thread that is stuck inside MPI cannot abort. If the abort does not work from here either, at least this
    // process ends.
    std::thread([comm = comm_] { MPI_Abort(comm, EXIT_FAILURE); }).detach();
    std::this_thread::sleep_for(std::chrono::seconds(2));
    std::raise(SIGKILL);
  }
}

}  // namespace cairn
