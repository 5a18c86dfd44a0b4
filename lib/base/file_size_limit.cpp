#include "base/file_size_limit.hpp"

#include <cerrno>
#include <ctime>

namespace cairn {
namespace {

sigset_t only_this_signal() {
  sigset_t set{};
  sigemptyset(&set);
  sigaddset(&set, SIGXFSZ);
  return set;
}

}  // namespace

FileSizeLimit::FileSizeLimit() {
  const sigset_t set = only_this_signal();
  pthread_sigmask(SIG_BLOCK, &set, &before_);
  // Only a signal that was blocked before can be pending.
  if (sigismember(&before_, SIGXFSZ) == 0) return;
  sigset_t pending{};
  was_pending_ = sigpending(&pending) == 0 && sigismember(&pending, SIGXFSZ) == 1;
}

FileSizeLimit::~FileSizeLimit() {
  const int number = errno;
  const sigset_t set = only_this_signal();
  constexpr timespec kNow{};
  if (!was_pending_) (void)sigtimedwait(&set, nullptr, &kNow);
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  errno = number;
}

}  // namespace cairn
