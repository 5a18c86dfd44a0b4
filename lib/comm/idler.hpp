// What a Comm does while it waits: the function that on_wait() set, else a sleep that grows. Shared by the
// implementations of Comm; each sleeps in its own way. Thread-safe. Local.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "comm/backoff.hpp"

namespace cairn {

class Idler {
 public:
  explicit Idler(const Backoff::Limits& limits = {}) : backoff_(limits) {}

  // Sets the function, or none. After this returns, the earlier function is no longer running, unless that function
  // makes this call. It must not throw.
  void set_work(std::function<bool()> work);
  // Runs the function once; a wait inside that function does not run it again. Then the time to sleep, or
  // none if there was progress here or in the function.
  [[nodiscard]] std::optional<Backoff::Duration> turn(bool progress);
  // Something happened or was started: the next sleep is short again.
  void reset();

 private:
  using Work = std::function<bool()>;
  [[nodiscard]] bool run_work();

  std::mutex mutex_;
  std::condition_variable work_ended_;
  std::shared_ptr<const Work> work_;
  std::thread::id runner_;
  Backoff backoff_;
};

}  // namespace cairn
