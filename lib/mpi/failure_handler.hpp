// The error handler of the application's communicator in a job that repairs itself. On a failure it cuts the lifeline
// and revokes the communicator of the failed call, so that nobody waits for this rank, and no message under way touches
// memory that is about to be freed. The application then leaves by an exception out of the MPI call (destructors run),
// or learns it from the call's return code. Other errors go to the handler that the communicator had before.
//
// MPI tells a handler nothing but the communicator and hands it on to communicators that are derived from it, so
// there is one at a time in a process. While another exception is under way it does not throw, and the call returns its
// code.
#pragma once

#include <mpi.h>

#include <functional>
#include <memory>
#include <utility>

#include "mpi/lifeline.hpp"

namespace cairn {

// Whether an error `code` on `comm` is due to a failure. MPI_Waitall only says that some of its requests have failed,
// and non-blocking collectives of Open MPI 5.0 may return MPI_ERR_OTHER when a member has died.
[[nodiscard]] bool reports_failure(MPI_Comm comm, int code);

class FailureHandler {
 public:
  FailureHandler(MPI_Comm comm, std::shared_ptr<Lifeline> lifeline, bool throws);
  ~FailureHandler();
  FailureHandler(const FailureHandler&) = delete;
  FailureHandler& operator=(const FailureHandler&) = delete;

  // From now on; for a session that was opened before its application could say so.
  void tell_by_exceptions(bool throws) { throws_ = throws; }
  // Runs each time that a call returns the code of a failure to the application; may be empty.
  void once_told_by_code(std::function<void()> then) { told_by_code_ = std::move(then); }

  // While this object lives, calls return their errors to Cairn, which makes them for the application.
  class Quiet {
   public:
    Quiet();
    ~Quiet();
    Quiet(const Quiet&) = delete;
    Quiet& operator=(const Quiet&) = delete;
  };

  // While this object lives, a failure cuts the lifeline, and calls return their errors.
  class Deferred {
   public:
    Deferred();
    ~Deferred();
    Deferred(const Deferred&) = delete;
    Deferred& operator=(const Deferred&) = delete;
  };

  // Runs a call in this way.
  template <class Run>
  static int deferred(Run run) {
    const Deferred deferred;
    return run();
  }
  // Runs a call quietly.
  template <class Run>
  static int quietly(Run run) {
    const Quiet quiet;
    return run();
  }

  // For MPI: an error `code` on `comm`.
  static void on_error(MPI_Comm* comm, int* code, ...);

  // If the application has set an error handler of its own on `from`: `to`, which takes the place of `from`, gets it.
  static void follow(MPI_Comm from, MPI_Comm to);
  // The application sets this handler on a communicator whose place `to` takes. It may be the one that it found there.
  static void set(MPI_Comm to, MPI_Errhandler handler);

 private:
  void handle(MPI_Comm comm, int code) const;

  MPI_Comm comm_;
  std::shared_ptr<Lifeline> lifeline_;
  bool throws_;
  std::function<void()> told_by_code_;
  MPI_Errhandler before_ = MPI_ERRHANDLER_NULL;
};

}  // namespace cairn
