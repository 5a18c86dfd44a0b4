// The ranks' agreement on time and on the stop signal: a small non-blocking reduction, started every P calls of
// snapshot() and waited for one call later, so that the wait is seldom and short. All ranks get the same answer at
// the same call. P follows from what was agreed before.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "base/error.hpp"
#include "comm/comm.hpp"

namespace cairn {

using Clock = std::function<std::chrono::milliseconds()>;  // since any fixed moment

class Pulse {
 public:
  // `ranks`: the application ranks; the caller's. Elapsed time counts from here.
  Pulse(Comm& ranks, Clock clock);

  struct Beat {
    std::chrono::milliseconds elapsed;  // the longest of all ranks
    bool stop;                          // some rank was warned
  };
  // One call of snapshot(): completes a reduction under way, and starts the next when its turn has come. Collective in
  // time.
  [[nodiscard]] Result<std::optional<Beat>> call(bool stop_here);

 private:
  Comm& ranks_;
  Clock clock_;
  std::chrono::milliseconds start_;
  std::array<std::uint64_t, 2> values_{};
  std::unique_ptr<Request> pending_;
  std::uint64_t calls_ = 0;  // since the last beat
  std::uint64_t period_ = 1;
  std::chrono::milliseconds last_{0};
};

}  // namespace cairn
