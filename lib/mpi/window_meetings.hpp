// The windows of the application in a job that repairs itself. Each gets a communicator on which its ranks meet before
// a fence or MPI_Win_free, and which the lifeline revokes; and an error handler that takes a failure for what it is.
// Open MPI 5 cannot revoke windows: without the meeting, ranks would wait in a fence for those that have left it.
//
// A process that dies between the meeting and the end of the fence may still leave others in it, as may one that dies
// while others wait in MPI_Win_wait or MPI_Win_lock. They do not come to the repair, which ends after [recovery] limit.
#pragma once

#include <mpi.h>

#include <functional>
#include <memory>

#include "mpi/lifeline.hpp"
#include "tap/window_guard.hpp"

namespace cairn {

class WindowMeetings final : public tap::WindowGuard {
 public:
  // `leaves`: a process has died; throws, or returns where the application gets MPI's codes.
  WindowMeetings(std::shared_ptr<Lifeline> lifeline, std::function<void()> leaves);
  ~WindowMeetings() override;
  WindowMeetings(const WindowMeetings&) = delete;
  WindowMeetings& operator=(const WindowMeetings&) = delete;

  int made(MPI_Comm comm, MPI_Win window) override;
  int meets(MPI_Win window) override;
  int frees(MPI_Win window) override;
  [[nodiscard]] bool is_lost(MPI_Win window) const override;

  // For MPI: an error `code` on `window`.
  static void on_error(MPI_Win* window, int* code, ...);

 private:
  struct Meeting;

  static int key();
  static int on_free(MPI_Win window, int key, void* value, void* extra);
  [[nodiscard]] static Meeting* meeting_of(MPI_Win window);
  // Returns MPI's code, unless it is a failure, which leaves the call.
  int leaves_on_failure(int code);

  std::shared_ptr<Lifeline> lifeline_;
  std::function<void()> leaves_;
  MPI_Errhandler handler_ = MPI_ERRHANDLER_NULL;
};

}  // namespace cairn
