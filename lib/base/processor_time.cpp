#include "base/processor_time.hpp"

#include <ctime>

namespace cairn {

std::chrono::nanoseconds processor_time_of_thread() {
  timespec time{};
  if (::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) != 0) return {};
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

}  // namespace cairn
