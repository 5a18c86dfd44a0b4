#include "repair/hang_guard.hpp"

#include <algorithm>
#include <utility>

namespace cairn {

HangGuard::HangGuard(std::vector<ProcessId> others, std::chrono::milliseconds timeout, Log log)
    : timeout_(timeout), log_(std::move(log)) {
  const auto now = std::chrono::steady_clock::now();
  for (const ProcessId& process : others) others_.push_back({process, now});
  thread_ = std::jthread([this](const std::stop_token& stop) { guard(stop); });
}

void HangGuard::guard(const std::stop_token& stop) {
  // Looks several times per timeout: a process that has run in between has not been stopped all the time.
  const auto between = std::max(timeout_ / 8, std::chrono::milliseconds(1));
  std::unique_lock lock(mutex_);
  auto last_look = std::chrono::steady_clock::now();
  while (!stopping_.wait_for(lock, stop, between, [&] { return stop.stop_requested(); })) {
    const auto now = std::chrono::steady_clock::now();
    // If this process was stopped itself, it cannot tell how long the others were stopped.
    const bool missed = now - last_look > timeout_ / 2;
    last_look = now;
    for (Other& other : others_) {
      if (missed || !is_stopped(other.process)) other.last_seen_running = now;
      if (now - other.last_seen_running < timeout_) continue;
      log_.warning("process {} has been stopped for {} ms ([recovery] hang_timeout) and is killed",
                   other.process.number, timeout_.count());
      kill_process(other.process);
      other.last_seen_running = now;
    }
  }
}

}  // namespace cairn
