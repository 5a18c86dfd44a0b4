// The ranks' agreement on time, on the stop signal and on what snapshots cost: a small non-blocking reduction, started
// every P calls of snapshot() and waited for one call later, so that the wait is seldom and short. All ranks get the
// same answer at the same call. P follows from what was agreed before.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "comm/comm.hpp"
#include "session/measures.hpp"

namespace cairn {

class Pulse {
 public:
  // `ranks`: the application ranks; the caller's. Elapsed time counts from here.
  Pulse(Comm& ranks, Clock clock);

  struct Beat {
    std::chrono::microseconds elapsed;  // the longest of all ranks
    bool stop;                          // some rank was warned
    Measures measures;                  // each the highest of all ranks
  };
  // One call of snapshot(): completes a reduction under way, and starts the next when its turn has come. Collective in
  // time.
  [[nodiscard]] Result<std::optional<Beat>> call(bool stop_here, const Measures& mine);

 private:
  void start(bool stop_here, const Measures& mine);
  [[nodiscard]] Beat beat() const;

  Comm& ranks_;
  Clock clock_;
  std::chrono::microseconds start_;
  std::array<std::uint64_t, 3 + 2 * kLevels> values_{};
  std::unique_ptr<Request> pending_;
  bool started_ = false;
  std::uint64_t calls_ = 0;    // since the last start
  std::uint64_t covered_ = 0;  // calls between the two starts before
  std::uint64_t period_ = 1;
  std::chrono::microseconds last_{0};
};

}  // namespace cairn
