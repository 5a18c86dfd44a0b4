// How much processor time a thread has used. Local.
#pragma once

#include <chrono>

namespace cairn {

// By the calling thread, since it began; 0: the system does not count it.
[[nodiscard]] std::chrono::nanoseconds processor_time_of_thread();

}  // namespace cairn
