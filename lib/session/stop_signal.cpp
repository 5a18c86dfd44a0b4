#include "session/stop_signal.hpp"

#include <csignal>

namespace cairn {
namespace {

// A signal handler can reach nothing but a global; this is the only one.
volatile std::sig_atomic_t seen_signal = 0;

extern "C" void cairn_note_signal(int /*signal*/) { seen_signal = 1; }

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

bool StopSignal::seen() { return seen_signal != 0; }

}  // namespace cairn
