// Takes part in the calls on windows that wait for all ranks of the window. MPI has no way to end such a wait when
// others have left it, so the guard lets a rank begin it only once all have come. A process has at most one.
//
// Functions with a result return MPI's codes. They run in the thread that makes the call, inside it, and may throw what
// the application is to get.
#pragma once

#include <mpi.h>

namespace cairn::tap {

class WindowGuard {
 public:
  virtual ~WindowGuard() = default;
  // All ranks of `comm` have made a window of it. Collective over `comm`.
  virtual int made(MPI_Comm comm, MPI_Win window) = 0;
  // This rank is about to wait for all ranks of the window. Collective over the window.
  virtual int meets(MPI_Win window) = 0;
  // The same, and the wait is in MPI_Win_free.
  virtual int frees(MPI_Win window) = 0;
  // Ranks of the window are dead, or have left it for a repair: it can be neither used nor freed any more.
  [[nodiscard]] virtual bool is_lost(MPI_Win window) const = 0;
};

// The one of this process; null: there is none.
[[nodiscard]] WindowGuard*& window_guard();

// While this object lives, the guard takes part. Requires: no thread is inside an MPI call.
class GuardingWindows {
 public:
  explicit GuardingWindows(WindowGuard& one) { window_guard() = &one; }
  ~GuardingWindows() { window_guard() = nullptr; }
  GuardingWindows(const GuardingWindows&) = delete;
  GuardingWindows& operator=(const GuardingWindows&) = delete;
};

}  // namespace cairn::tap
