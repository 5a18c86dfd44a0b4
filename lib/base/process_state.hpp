// What /proc says of a process of this host. Local.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

namespace cairn {

struct ProcessState {
  char state = 'X';           // as /proc writes it: R, S, D, T …
  std::uint64_t ticks = 0;    // of processor time
  std::uint64_t started = 0;  // clock ticks after the host's start: a new process with an old number has another

  [[nodiscard]] bool ended() const { return state == 'Z' || state == 'X'; }
  // By a signal or a debugger.
  [[nodiscard]] bool stopped() const { return state == 'T' || state == 't'; }
};

// None: there is no such process any more.
[[nodiscard]] std::optional<ProcessState> look_at_process(std::int32_t process);

// The same as a value, for those who take it from their caller.
using LookAtProcess = std::function<std::optional<ProcessState>(std::int32_t process)>;

}  // namespace cairn
