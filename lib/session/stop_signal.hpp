// A batch system's warning that time is up: SIGUSR1. The handler only sets a flag.
#pragma once

namespace cairn {

// Watches for SIGUSR1 from its first use on, unless the application handles that signal itself. Process-wide, since
// a signal is.
class StopSignal {
 public:
  // Returns whether the signal is watched.
  static bool watch();
  [[nodiscard]] static bool seen();
};

}  // namespace cairn
