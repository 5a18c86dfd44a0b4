// SIGUSR1, by which a batch system warns before the time limit. The handler only sets a flag.
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
