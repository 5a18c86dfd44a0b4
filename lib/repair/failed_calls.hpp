// The calls of an application that fail since a process died, where it learns of the failure from their codes. One that
// ignores codes may make such calls without end: a loop that ends by a result of MPI never gets one.
//
// Thread-safe. Local.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>

namespace cairn {

class FailedCalls {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::uint64_t kMost = 1000;

  // Another call fails. Returns how long ago the first one did, if these are at least kMost calls in at least `limit`.
  [[nodiscard]] std::optional<Clock::duration> add(Clock::time_point now, Clock::duration limit);
  // The application has left its calls.
  void forget();

 private:
  std::mutex mutex_;
  std::uint64_t count_ = 0;
  Clock::time_point first_{};
};

}  // namespace cairn
