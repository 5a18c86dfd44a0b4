// The clock of a session and its head: the machine's in an application, the test's own in a test. The caller chooses it
// when it opens the session. Different processes may count from different moments.
#pragma once

#include <chrono>
#include <functional>
#include <optional>

namespace cairn {

// The time since some fixed moment; it never goes back. May be called from several threads.
using Clock = std::function<std::chrono::microseconds()>;

// The time of today, as files have it: seconds since 1970.
[[nodiscard]] inline std::chrono::seconds seconds_of_today() {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch());
}

// How long to wait for something that may never come.
using WaitLimit = std::optional<std::chrono::milliseconds>;
inline constexpr WaitLimit kForever = std::nullopt;

}  // namespace cairn
