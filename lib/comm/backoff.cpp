#include "comm/backoff.hpp"

#include <algorithm>
#include <thread>

namespace cairn {

void Backoff::sleep_a_little() {
  const Duration duration = next();
  if (duration.count() == 0) {
    std::this_thread::yield();
  } else {
    std::this_thread::sleep_for(duration);
  }
}

void Backoff::reset() {
  next_ = limits_.first;
  slept_ = Duration{0};
  yielded_ = 0;
}

Backoff::Duration Backoff::next() {
  if (yielded_ < limits_.yields) {
    ++yielded_;
    return Duration{0};
  }
  const Duration duration = next_;
  // Once idle it stays so until reset(); the sum need not grow for ever.
  if (slept_ < limits_.idle_after) slept_ += duration;
  next_ = std::min(next_ + next_ / 4, slept_ < limits_.idle_after ? limits_.cap : limits_.idle_cap);
  return duration;
}

}  // namespace cairn
