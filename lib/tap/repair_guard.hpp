// Takes part in calls that MPI does not end well after a failure, in a job that repairs itself. These are calls with
// long messages, of which MPI may leave some to write into memory that the application frees. Others are calls on
// windows, which MPI cannot revoke, and calls by which an application asks again and again: MPI reports no failure
// there. A process has at most one.
//
// Functions with an int return MPI's codes. They run in the thread that makes the call, inside it, and may throw what
// the application is to get.
#pragma once

#include <mpi.h>

#include <optional>
#include <span>

#include "tap/carrier.hpp"
#include "tap/interest.hpp"

namespace cairn::tap {

class RepairGuard {
 public:
  virtual ~RepairGuard() = default;

  // A request of the application on a communicator of a family exists; a persistent one is not `active` until started.
  enum class Direction { sends, receives, both };
  virtual void begun(MPI_Request request, bool active, Direction direction) = 0;
  virtual void started(MPI_Request request) = 0;
  // It is complete. One that does not `persist` is gone.
  virtual void completed(MPI_Request request, bool persists) = 0;
  // Waits for requests, or tests them, in MPI's place; nothing: MPI does.
  virtual std::optional<int> complete(Which which, std::span<MPI_Request> requests, const Completed& completed) = 0;
  // Sends in MPI's place; nothing: MPI does.
  virtual std::optional<int> send(const OutgoingMessage& out) = 0;
  // Sends and receives in MPI's place. The two may have the same buffer.
  virtual int exchange(const OutgoingMessage& out, const IncomingMessage& in, MPI_Status* status) = 0;

  // The application is about to make a call that may return without a result. Looks whether a process has died, at most
  // once a millisecond. MPI_SUCCESS: the call continues; otherwise it returns this code. Does nothing unless
  // looks_here().
  virtual int look() = 0;
  // Whether this thread looks: one does.
  [[nodiscard]] virtual bool looks_here() const = 0;

  // A collective in MPI's place; nothing: MPI makes it.
  virtual std::optional<int> collective(const collectives::Any& call) = 0;

  // The application frees the communicator, and MPI must not.
  [[nodiscard]] virtual bool keeps(MPI_Comm comm) const = 0;

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
[[nodiscard]] RepairGuard*& repair_guard();

// While this object lives, the guard takes part. Requires: no thread is inside an MPI call.
class Guarding {
 public:
  explicit Guarding(RepairGuard& one) { repair_guard() = &one; }
  ~Guarding() { repair_guard() = nullptr; }
  Guarding(const Guarding&) = delete;
  Guarding& operator=(const Guarding&) = delete;

 private:
  Interest interest_;
};

}  // namespace cairn::tap
