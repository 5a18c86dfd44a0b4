#include "store/posix/unshared_fd.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <memory>
#include <mutex>
#include <set>
#include <utility>

namespace cairn::posix {
namespace {

struct Unshared {
  std::mutex mutex;
  std::set<int> numbers;

  Unshared() { (void)::pthread_atfork(lock, unlock, drop); }

  static Unshared& all();
  static void lock() { all().mutex.lock(); }
  static void unlock() { all().mutex.unlock(); }
  // In the child, where only calls are safe that are safe in a signal handler.
  static void drop();
};

// Handlers of fork() can reach nothing but a global. It is never destroyed: a process may fork while it ends.
Unshared& Unshared::all() {
  static auto& unshared = *std::make_unique<Unshared>().release();
  return unshared;
}

void Unshared::drop() {
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  for (const int number : all().numbers) {
    if (null < 0 || ::dup3(null, number, O_CLOEXEC) < 0) ::close(number);
  }
  if (null >= 0) ::close(null);
  all().numbers.clear();
  unlock();
}

}  // namespace

UnsharedFd::UnsharedFd(Fd file) : file_(std::move(file)) {
  if (!valid()) return;
  Unshared& unshared = Unshared::all();
  const std::lock_guard guard(unshared.mutex);
  unshared.numbers.insert(get());
}

UnsharedFd::~UnsharedFd() { forget(); }

UnsharedFd& UnsharedFd::operator=(UnsharedFd&& other) noexcept {
  forget();
  file_ = std::move(other.file_);
  return *this;
}

void UnsharedFd::forget() const {
  if (!valid()) return;
  Unshared& unshared = Unshared::all();
  const std::lock_guard guard(unshared.mutex);
  unshared.numbers.erase(get());
}

}  // namespace cairn::posix
