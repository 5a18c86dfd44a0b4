// The lock of a PosixStore: an flock on the file lock, which holds the number of the process that has it.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>

#include "store/posix/posix_writer.hpp"
#include "store/posix/unshared_fd.hpp"
#include "store/store.hpp"

namespace cairn::posix {

// The lock file, while the store holds the lock; else no file. Shared by the store and its Lock.
struct HeldLock {
  std::mutex mutex;
  UnsharedFd file;

  [[nodiscard]] bool is_held() {
    const std::lock_guard guard(mutex);
    return file.valid();
  }
};

// Tries for `patience`, then refuses with Code::taken_over. `held` has the lock while the Lock lives.
[[nodiscard]] Result<std::unique_ptr<Lock>> take_lock(const Home& home, std::chrono::milliseconds patience,
                                                      const std::shared_ptr<HeldLock>& held);

// Takes the lock in another directory of the same store too, if it is held in the one that was removed.
[[nodiscard]] Status move_lock(const Home& home, HeldLock& held);

}  // namespace cairn::posix
