#include "session/stop_signal.hpp"

#include <atomic>
#include <csignal>
#include <cstddef>

namespace cairn {
namespace {

constexpr int kUserSignals[] = {SIGUSR1, SIGUSR2};

constexpr std::size_t place_of(int number) { return number == SIGUSR1 ? 0 : 1; }

// A signal handler can reach nothing but a global; these are the only ones. Atomic, since a signal may come to any
// thread.
std::atomic<bool> seen_signals[2];
static_assert(std::atomic<bool>::is_always_lock_free);

extern "C" void cairn_note_signal(int number) { seen_signals[place_of(number)] = true; }

using Handler = void (*)(int);

// Whether the signal had the handler `before`, and has `after` now.
bool change(int number, Handler before, Handler after) {
  struct sigaction present {};
  if (sigaction(number, nullptr, &present) != 0 || present.sa_handler != before) return false;
  struct sigaction next {};
  next.sa_handler = after;
  next.sa_flags = SA_RESTART;
  sigemptyset(&next.sa_mask);
  return sigaction(number, &next, nullptr) == 0;
}

}  // namespace

bool StopSignal::watch(int number) {
  if (change(number, SIG_DFL, &cairn_note_signal)) return true;
  struct sigaction present {};
  return sigaction(number, nullptr, &present) == 0 && present.sa_handler == &cairn_note_signal;
}

bool StopSignal::seen(int number) { return seen_signals[place_of(number)]; }

SignalsOfOthers::SignalsOfOthers() {
  for (const int number : kUserSignals) ignored_[place_of(number)] = change(number, SIG_DFL, SIG_IGN);
}

SignalsOfOthers::~SignalsOfOthers() {
  for (const int number : kUserSignals)
    if (ignored_[place_of(number)]) (void)change(number, SIG_IGN, SIG_DFL);
}

}  // namespace cairn
