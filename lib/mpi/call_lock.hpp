// Guards what MPI calls of several threads change. It costs nothing where only one thread may make them.
#pragma once

#include <mutex>

namespace cairn {

class CallLock {
 public:
  explicit CallLock(bool has_threads) : has_threads_(has_threads) {}

  [[nodiscard]] std::unique_lock<std::mutex> hold() const {
    return has_threads_ ? std::unique_lock(mutex_) : std::unique_lock<std::mutex>();
  }

 private:
  bool has_threads_;
  mutable std::mutex mutex_;
};

}  // namespace cairn
