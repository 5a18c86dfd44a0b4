// What /proc says of a process of this host. Local.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <istream>
#include <optional>

namespace cairn {

struct ProcessState {
  char state = 'X';           // as /proc writes it: R, S, D, T …
  std::uint64_t ticks = 0;    // of processor time
  std::uint64_t started = 0;  // clock ticks after the host's start: a new process with an old number has another
  std::chrono::nanoseconds waited{};  // that its first thread could have run, and no processor was free; 0: not known

  [[nodiscard]] bool ended() const { return state == 'Z' || state == 'X'; }
  // By a signal or a debugger.
  [[nodiscard]] bool stopped() const { return state == 'T' || state == 't'; }
};

// None: there is no such process any more.
[[nodiscard]] std::optional<ProcessState> look_at_process(std::int32_t process);

// The same as a value, for those who take it from their caller.
using LookAtProcess = std::function<std::optional<ProcessState>(std::int32_t process)>;

// How many processes the kernel's out-of-memory killer has ended on this host since it started, those of containers
// included; none: the kernel does not say.
[[nodiscard]] std::optional<std::uint64_t> count_oom_kills();
// The same from the text of /proc/vmstat.
[[nodiscard]] std::optional<std::uint64_t> oom_kills_in(std::istream& vmstat);
using CountOomKills = std::function<std::optional<std::uint64_t>()>;

}  // namespace cairn
