// A descriptor that children made by fork() do not keep. A lock belongs to the open file: as long as any process has
// that open, it is held. Children that exec a program lose it by O_CLOEXEC; those that only fork, as workers of Python
// do, would hold the lock of a process that has died.
#pragma once

#include "store/posix/posix_file.hpp"

namespace cairn::posix {

// Owns the descriptor. In a child its number stands for /dev/null, so that closing it there closes no other file.
class UnsharedFd {
 public:
  UnsharedFd() = default;
  explicit UnsharedFd(Fd file);
  ~UnsharedFd();
  UnsharedFd(UnsharedFd&& other) noexcept = default;
  UnsharedFd& operator=(UnsharedFd&& other) noexcept;

  [[nodiscard]] int get() const { return file_.get(); }
  [[nodiscard]] bool valid() const { return file_.valid(); }

 private:
  // Before it is closed.
  void forget() const;

  Fd file_;
};

}  // namespace cairn::posix
