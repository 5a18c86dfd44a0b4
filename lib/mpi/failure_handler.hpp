// Handles errors of the application's communicators in a job that repairs itself (tap::ErrorJudge). On a failure it
// cuts the lifeline and revokes the communicator of the failed call, so that nobody waits for this rank, and no message
// under way touches memory that is about to be freed. The application then leaves by an exception out of the MPI call
// (destructors run), or learns it from the call's return code and from a handler of its own. Other errors are the
// application's.
//
// There is one at a time in a process. While another exception is under way it does not throw, and the call returns its
// code.
#pragma once

#include <mpi.h>

#include <chrono>
#include <functional>
#include <memory>
#include <utility>

#include "base/log.hpp"
#include "mpi/lifeline.hpp"
#include "tap/error_handlers.hpp"

namespace cairn {

// Whether an error `code` on `comm` is due to a failure. MPI_Waitall only says that some of its requests have failed,
// and non-blocking collectives of Open MPI 5.0 may return MPI_ERR_OTHER when a member has died.
[[nodiscard]] bool reports_failure(MPI_Comm comm, int code);

// Ends this process, since MPI still receives a message into the application's memory, so long after a failure.
[[noreturn]] void end_for_late_message(const Log& log, std::chrono::milliseconds after);

class FailureHandler {
 public:
  // `comm`: the application's, whose errors `handler` gets.
  FailureHandler(MPI_Comm comm, MPI_Errhandler handler, std::shared_ptr<Lifeline> lifeline, bool throws);
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

  // Whose an error `code` on `comm` is.
  [[nodiscard]] static tap::ErrorJudge::Tells judge(MPI_Comm comm, int code);
  // Whether the application learns of failures by exceptions.
  [[nodiscard]] static bool tells_by_exceptions();
  // A call returns because of a failure that MPI has not reported there: calls the application's own handler, if it
  // learns of failures by return codes.
  static void tell_of_failure();

 private:
  [[nodiscard]] tap::ErrorJudge::Tells handle(MPI_Comm comm, int code) const;

  MPI_Comm comm_;
  std::shared_ptr<Lifeline> lifeline_;
  bool throws_;
  std::function<void()> told_by_code_;
};

}  // namespace cairn
