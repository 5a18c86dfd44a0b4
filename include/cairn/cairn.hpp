// Cairn for C++ applications over MPI.
//
//   MPI_Init(&argc, &argv);
//   const int code = cairn::run(MPI_COMM_WORLD, "heat.ini", [&](cairn::Session& session) {
//     std::vector<double> plate(n * n);
//     int step = 0;
//     session.protect("plate", plate);
//     session.protect("step", step);
//     session.restore();                     // nothing to do on a fresh start
//     while (step < steps) {
//       relax(plate, session.comm());        // the application's communicator
//       ++step;                              // before the snapshot, or the step would be done again
//       session.snapshot();                  // cheap when none is due
//     }
//   });
//   MPI_Finalize();
//   return code;
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <mpi.h>

#include <cairn/failure_topology.hpp>
#include <cairn/log.hpp>
#include <cairn/session_base.hpp>

namespace cairn {

// How the application is entered. fresh: at the start of the job. After a failure, survivor: in a process that was an
// application rank before; replacement: in one that takes a dead rank's place.
enum class State { fresh, survivor, replacement };

class Session final : public SessionBase {
 public:
  // Collective over `world`. `config` is the INI file's path (empty: defaults), read on rank 0. On a dedicated
  // head rank the call serves the node until the session ends and returns nothing; on application
  // ranks it returns a session. Throws on all ranks alike; nothing is logged then.
  static std::unique_ptr<Session> open(MPI_Comm world, const std::string& config, const FailureTopology& failures = {});

  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  ~Session() override;

  // The application ranks' communicator: heads and spares are not in it. Cairn owns it: do not free it. It is valid
  // until MPI_Finalize, also when the session has been finalized or destroyed. Only a rollback ends its use before.
  [[nodiscard]] MPI_Comm comm() const;

  // Local. For a communicator that is not made of comm(), by each member before it waits there. Where the job repairs
  // itself, a failure then ends every wait on it as well; otherwise a rank may wait there for ever for another that is
  // alive and has gone back. Communicators made of comm() (MPI_Comm_dup, split, Cart_create …), and of those, are
  // watched from the start, but with [job] tap = off. The caller still owns and frees the communicator. MPI_COMM_NULL
  // is ignored.
  void watch(MPI_Comm comm);

  // Local, and quick. Whether this process knows that another one has died, so that the job goes back: the next Cairn
  // call says so. For loops that make no Cairn call, where MPI's errors do not end them (the application has an error
  // handler of its own).
  [[nodiscard]] bool failed() const;

  // How run() entered the application this time, and which processes had died before it did.
  [[nodiscard]] State state() const;
  [[nodiscard]] const FailureTopology& failures() const;

 private:
  friend class Resilient;
  struct Mpi;
  struct Opening;
  static std::unique_ptr<Session> open(const Opening& opening);
  // Whether the application has restored or taken a snapshot.
  [[nodiscard]] bool is_under_way();
  Session(std::unique_ptr<SessionImpl> impl, std::unique_ptr<Mpi> mpi);
  std::unique_ptr<Mpi> mpi_;
};

// Collective over `world`. Serves the heads, calls `application` on the application ranks, and finalizes the session
// when it returns. Returns the program's exit code: 0, or 1 after an error.
//
// An error of opening, of finalizing, or an exception that leaves `application` is logged once, as one line. If all
// application ranks have such an error, run() returns 1 on all of them. If only some have, the others would block
// forever: the job is ended by MPI_Abort after a second, or after five for an error of restore(). Throws nothing of its
// own.
//
// With [recovery] mode = spares or respawn, `application` is the point to go back to when a process dies: survivors
// leave it by an Exception of kind `rollback`, thrown by Cairn's calls and by MPI calls on session.comm(), and all
// enter it again with a new session, protect their regions anew, and restore(). Do not catch that exception.
// Communicators derived from session.comm() cannot be used after it: make them anew.
// Message requests are void too.
[[nodiscard]] int run(MPI_Comm world, const std::string& config, const std::function<void(Session&)>& application);

}  // namespace cairn
