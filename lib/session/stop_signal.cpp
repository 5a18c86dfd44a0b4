#include "session/stop_signal.hpp"

#include <atomic>
#include <csignal>

namespace cairn {
namespace {

// A signal handler can reach nothing but a global; this is the only one. Atomic, since the signal may come to any
// thread.
std::atomic<bool> seen_signal{false};
static_assert(std::atomic<bool>::is_always_lock_free);

extern "C" void cairn_note_signal(int /*signal*/) { seen_signal = true; }

}  // namespace

bool StopSignal::watch() {
  struct sigaction present {};
  if (sigaction(SIGUSR1, nullptr, &present) != 0) return false;
  if (present.sa_handler == &cairn_note_signal) return true;
  if (present.sa_handler != SIG_DFL) return false;
  struct sigaction ours {};
  ours.sa_handler = &cairn_note_signal;
  ours.sa_flags = SA_RESTART;
  sigemptyset(&ours.sa_mask);
  return sigaction(SIGUSR1, &ours, nullptr) == 0;
}

bool StopSignal::seen() { return seen_signal; }

}  // namespace cairn
