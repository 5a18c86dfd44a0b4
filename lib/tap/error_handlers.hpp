// Error handlers of the application's communicators and windows, in a job that repairs itself. MPI tells a handler only
// of which object the error is, and a failure is no error of the application. So MPI has other handlers than the
// application has set:
//
// - In place of a predefined handler, MPI has a stand-in, of which there is one for each.
// - For a handler that the application makes, MPI gets a function of the tap in every job. It calls the application's.
//
// Both ask the job's judge first. Communicators that are made of others inherit both, as MPI does it. The application
// gets back the handler that it has set. Its handlers that were made in Fortran with Open MPI stay as they are.
//
// Thread-safe. Local.
#pragma once

#include <mpi.h>

namespace cairn::tap {

// Says whose an error is. A process has at most one. Called in the thread of the failed call, inside it; may throw what
// the application is to get.
class ErrorJudge {
 public:
  virtual ~ErrorJudge() = default;
  enum class Tells {
    nobody,  // the error is Cairn's
    own,     // a handler of the application's own, but no predefined one: the error is a failure
    anybody,
  };
  virtual Tells judge_comm(MPI_Comm comm, int code) = 0;
  virtual Tells judge_window(MPI_Win window, int code) = 0;
};

// The one of this process; null: the job does not repair itself.
[[nodiscard]] ErrorJudge*& error_judge();

// While this object lives, `one` is the process's judge. It takes over the communicators of the application that there
// are.
class Judging {
 public:
  explicit Judging(ErrorJudge& one);
  ~Judging() { error_judge() = nullptr; }
  Judging(const Judging&) = delete;
  Judging& operator=(const Judging&) = delete;
};

// For the wrappers of MPI calls. What MPI gets where the application sets a handler.
[[nodiscard]] MPI_Errhandler in_place_of(MPI_Comm comm, MPI_Errhandler handler);
[[nodiscard]] MPI_Errhandler in_place_of_window(MPI_Errhandler handler);
// MPI has told the application of a handler there, which it now owns: makes it the one that the application has set.
void tell_meant(MPI_Comm comm, MPI_Errhandler& handler);
void tell_meant_of_window(MPI_Win window, MPI_Errhandler& handler);
// What MPI gets where the application makes a handler, and whose place that takes.
[[nodiscard]] MPI_Comm_errhandler_function* function_of_comms();
[[nodiscard]] MPI_Win_errhandler_function* function_of_windows();
void made_handler(MPI_Errhandler handler, MPI_Comm_errhandler_function* function);
void made_window_handler(MPI_Errhandler handler, MPI_Win_errhandler_function* function);

// For Cairn. Puts a handler that the application means on one of its communicators. It must not be freed.
void set_handler(MPI_Comm comm, MPI_Errhandler meant);
// A predefined handler that MPI has there is replaced by its stand-in. Not on a communicator that Cairn uses, too.
void take_over(MPI_Comm comm);
void take_over_window(MPI_Win window);
// `to` gets what the application means on `from`.
void copy_handler(MPI_Comm from, MPI_Comm to);
// Errors there are returned, whatever the application means. Calls of Cairn's own fail there.
void return_errors(MPI_Comm comm);
// The session of the communicator is over. `is_void`: only requests that cannot be completed are left, whose errors are
// returned; otherwise MPI gets what the application means. A handler of the application's own stays.
void end_handling(MPI_Comm comm, bool is_void);
// MPI's own MPI_COMM_WORLD, or MPI_COMM_SELF.
[[nodiscard]] bool is_cairns_too(MPI_Comm comm);

}  // namespace cairn::tap
