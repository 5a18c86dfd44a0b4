// How long to sleep between two checks of something that sends no notification: short at first, each by a quarter
// longer up to `cap`, and up to `idle_cap` after about a second in which nothing happened. So what happens is noticed
// late by no more than a quarter of the time that it took. Counts its own sleeps and asks no clock. Belongs to one
// thread. Local.
#pragma once

#include <chrono>

namespace cairn {

class Backoff {
 public:
  using Duration = std::chrono::microseconds;

  struct Limits {
    unsigned yields = 0;  // turns that only yield the processor, before the first sleep
    Duration first{20};
    Duration cap{1'000};
    Duration idle_cap{10'000};
    Duration idle_after{1'000'000};
  };

  Backoff() = default;
  explicit Backoff(const Limits& limits) : limits_(limits), next_(limits.first) {}

  // Sleeps for the time that next() returns; yields the processor if that is 0.
  void sleep_a_little();
  // Something happened: the next sleep is short again.
  void reset();
  // The length of the sleep that is due now; the one after will be longer.
  [[nodiscard]] Duration next();

 private:
  Limits limits_{};
  Duration next_ = limits_.first;
  Duration slept_{0};
  unsigned yielded_ = 0;
};

}  // namespace cairn
