// The time that a session and its head measure by: the machine's in an application, a test's own in a test. Which it is
// says whoever opens the session; different processes may count from different moments.
#pragma once

#include <chrono>
#include <functional>
#include <optional>

namespace cairn {

// Since any fixed moment; never goes back. May be called from several threads.
using Clock = std::function<std::chrono::microseconds()>;

// How long somebody waits for what may never come.
using WaitLimit = std::optional<std::chrono::milliseconds>;
inline constexpr WaitLimit kForever = std::nullopt;

}  // namespace cairn
