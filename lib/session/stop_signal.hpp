// Signals that a batch system sends before the time limit: SIGUSR1 or SIGUSR2. A handler only sets a flag.
// Process-wide, since signals are.
#pragma once

#include <array>

namespace cairn {

class StopSignal {
 public:
  // Watches for the signal from its first use on, unless the application handles that signal itself. Returns whether
  // the signal is watched.
  static bool watch(int number);
  [[nodiscard]] static bool seen(int number);
};

// Launchers send these signals to every process, also those that are meant for the application. While this lives, none
// of them ends this process, which waits and does not run the application. Signals that are watched or handled stay so.
class SignalsOfOthers {
 public:
  SignalsOfOthers();
  ~SignalsOfOthers();
  SignalsOfOthers(const SignalsOfOthers&) = delete;
  SignalsOfOthers& operator=(const SignalsOfOthers&) = delete;

 private:
  std::array<bool, 2> ignored_{};  // by this object
};

}  // namespace cairn
