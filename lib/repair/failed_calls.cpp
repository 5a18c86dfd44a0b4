#include "repair/failed_calls.hpp"

namespace cairn {

std::optional<FailedCalls::Clock::duration> FailedCalls::add(Clock::time_point now, Clock::duration limit) {
  const std::scoped_lock lock(mutex_);
  if (count_++ == 0) first_ = now;
  if (count_ < kMost || now - first_ < limit) return {};
  return now - first_;
}

void FailedCalls::forget() {
  const std::scoped_lock lock(mutex_);
  count_ = 0;
}

}  // namespace cairn
