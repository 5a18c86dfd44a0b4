// Cairn for C++ applications that use MPI. A program protects its variables and takes snapshots of them:
//
//     int main(int argc, char** argv) {
//       MPI_Init(&argc, &argv);
//       const int code = cairn::run(MPI_COMM_WORLD, "heat.ini", [&](cairn::Session& session) {
//         std::vector<double> plate(n * n);
//         int step = 0;
//         session.protect("plate", plate);
//         session.protect("step", step);
//         session.restore();               // does nothing on a fresh start
//         while (step < steps) {
//           relax(plate, session.comm());  // the application communicates over session.comm()
//           ++step;                        // before the snapshot: a restored job must not repeat the step
//           session.snapshot();            // takes a snapshot if one is due
//         }
//       });
//       MPI_Finalize();
//       return code;
//     }
//
// A node is a host. [topology] node_size can divide a host into several nodes. On each node one rank may be a head: it
// copies snapshots to the other levels in the background and does not compute. A spare is a rank that waits until it
// replaces a dead rank. The other ranks are the application ranks; session.comm() contains only them.
//
// "[section] key" is a key of the configuration file. config/cairn.ini lists all keys.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <mpi.h>

#include <cairn/failure_topology.hpp>
#include <cairn/log.hpp>
#include <cairn/lost_collectives.hpp>
#include <cairn/lost_part.hpp>
#include <cairn/session_base.hpp>

namespace cairn {

// How this process entered the application.
enum class State {
  fresh,        // the job has just started
  survivor,     // a process died; this process was an application rank before
  replacement,  // a process died; this process takes the place of a dead rank
};

// A process's part in a job that Cairn protects. session_base.hpp describes the calls that protect regions, take
// snapshots and restore them.
//
// A session can be moved, but not copied. All of its calls come from one thread.
class Session final : public SessionBase {
 public:
  // Opens a session without run(). `config` is the path of the configuration file; only rank 0 of `world` reads it. An
  // empty path means the defaults. `failures` describes a failure before this run, if the caller knows more about it
  // than ckpt-run. On application ranks, returns the session. On a head, serves the node until the session ends, and
  // then returns null.
  //
  // Collective over `world`.
  // Requires: MPI is initialized. [recovery] mode is restart: only run() can repair a job, or cairn_run() and
  // cairn_init() in C.
  // Throws: the same Exception on all ranks. Cairn does not log it.
  static std::unique_ptr<Session> open(MPI_Comm world, const std::string& config, const FailureTopology& failures = {});

  // Moves the session. The other object may then only be destroyed or assigned to.
  Session(Session&&) noexcept;
  // Moves the session. The session that this object had ends without finalize(), as in the destructor.
  Session& operator=(Session&&) noexcept;
  // Ends the session. See the destructor of SessionBase for a session that was not finalized.
  ~Session() override;

  // Returns the communicator of the application ranks, without heads and spares. Cairn owns it: do not free it. It is
  // valid until MPI_Finalize, even after the session is finalized or destroyed. After a rollback it must not be used
  // any more. With [recovery] rollback = lost, it stays valid in survivors while the session is open.
  //
  // Local.
  [[nodiscard]] MPI_Comm comm() const;

  // Adds a communicator to those that Cairn revokes when a process dies. Call this for a communicator that was not made
  // from comm(). Otherwise a rank may block there forever, waiting for a rank that has already rolled back. Cairn
  // watches communicators made from comm() without this call (MPI_Comm_dup, MPI_Comm_split, MPI_Cart_create and so on),
  // unless [job] tap = off. Does nothing if the job does not repair itself, or if `comm` is MPI_COMM_NULL. The caller
  // still owns the communicator and frees it.
  //
  // Local. Each member calls it before it first waits on `comm`.
  void watch(MPI_Comm comm);

  // Returns whether this process knows that another process has died. The next Cairn call then rolls back. This is for
  // loops that make MPI calls but no Cairn calls, and that do not end at an MPI error.
  //
  // Local, fast.
  [[nodiscard]] bool failed() const;

  // Returns whether this process replaces a dead rank and has not caught up with it ([recovery] rollback = lost). It is
  // true from restore() until the process has computed again what the dead rank had computed, at least until its first
  // message or snapshot() call. The survivors do not repeat their calls. So between restore() and the loop of time
  // steps, the application must not communicate while this is true. It is false if the process has restored what all
  // ranks had restored: then it repeats all their calls.
  //
  // Local.
  [[nodiscard]] bool catches_up() const;

  // Returns how this process entered the application this time. Local.
  [[nodiscard]] State state() const;
  // Returns what the last failure took: as the repair before this entry found it, or as the caller told open(). Local.
  [[nodiscard]] const FailureTopology& failures() const;

 private:
  friend class JobWorld;
  friend class Resilient;
  struct Mpi;
  struct Opening;
  static std::unique_ptr<Session> open(const Opening& opening);
  // Whether the application has restored or taken a snapshot.
  [[nodiscard]] bool is_under_way();
  Session(std::unique_ptr<SessionImpl> impl, std::unique_ptr<Mpi> mpi);
  std::unique_ptr<Mpi> mpi_;
};

// Opens a session, calls `application` on the application ranks, and finalizes the session when `application` returns.
// Heads serve their nodes meanwhile; spares wait. `config` is the path of the configuration file; only rank 0 of
// `world` reads it. An empty path means the defaults. Returns the exit code for the program: 0, or 1 after an error.
//
// Errors: run() throws nothing. It logs one line for an error of opening or finalizing, and for an exception that
// leaves `application`. If all application ranks have the error, run() returns 1 on all of them. If only some have it,
// the others would block forever. So run() ends the job with MPI_Abort after one second, or after five seconds if
// restore() failed.
//
// Repair: with [recovery] mode = spares or respawn, the job continues after a process dies. On survivors, Cairn calls
// and MPI calls on session.comm() throw an Exception of kind `rollback`. It must leave `application`: do not catch
// it; if you catch it, throw it again. All application ranks then enter `application` again with a new session, protect
// their regions again, and call restore(). After a rollback, create communicators again that were made from
// session.comm(), and do not use requests from before it. With [recovery] rollback = lost, survivors stay in their MPI
// calls instead, if Cairn can replay the messages.
//
// Collective over `world`.
// Requires: MPI is initialized.
[[nodiscard]] int run(MPI_Comm world, const std::string& config, const std::function<void(Session&)>& application);
// The same for an application whose lost ranks spares help to replace ([replay] helpers): `compute_part` recomputes a
// part of a lost rank's steps, in a spare or in the replacement. See LostPart and SessionBase::on_loss(). All processes
// pass the same function.
[[nodiscard]] int run(MPI_Comm world, const std::string& config, const std::function<void(Session&)>& application,
                      const ComputePart& compute_part);

}  // namespace cairn
