#include "signals.hpp"

#include <algorithm>
#include <ctime>

namespace ckpt_run {
namespace {

constexpr int kInterrupts[] = {SIGINT, SIGTERM, SIGHUP};

}  // namespace

Signals::Signals() {
  ::sigemptyset(&taken_);
  ::sigaddset(&taken_, SIGCHLD);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2}) {
    struct sigaction present {};
    const bool ignored = ::sigaction(number, nullptr, &present) == 0 && present.sa_handler == SIG_IGN;
    if (!ignored) ::sigaddset(&taken_, number);
  }
  ::sigprocmask(SIG_BLOCK, &taken_, &before_);
}

Signals::~Signals() { ::sigprocmask(SIG_SETMASK, &before_, nullptr); }

Signals::Event Signals::wait(std::chrono::milliseconds limit) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(limit);
  const timespec time{seconds.count(), static_cast<long>((limit - seconds).count()) * 1'000'000};
  switch (::sigtimedwait(&taken_, nullptr, &time)) {
    case SIGCHLD: return Event::child;
    case SIGUSR1: return Event::user1;
    case SIGUSR2: return Event::user2;
    case SIGINT:
    case SIGTERM:
    case SIGHUP: interrupted_ = true; return Event::interrupt;
    default: return Event::none;
  }
}

bool Signals::interrupted() {
  interrupted_ |= is_pending();
  return interrupted_;
}

void Signals::take_pending() {
  while (is_pending()) (void)wait(std::chrono::milliseconds(0));
}

bool Signals::is_pending() const {
  sigset_t pending;
  if (::sigpending(&pending) != 0) return false;
  return std::ranges::any_of(kInterrupts, [&](int number) {
    return ::sigismember(&pending, number) == 1 && ::sigismember(&taken_, number) == 1;
  });
}

}  // namespace ckpt_run
