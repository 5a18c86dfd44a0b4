// A job with [job] world = application: the application's MPI_COMM_WORLD has neither heads nor spares. Roles are given
// in MPI_Init, as sessions give them: from the hosts and from what ckpt-run hands over. A process that does not compute
// waits there. It sleeps until an application rank calls it to a session, or to the end.
#pragma once

#include <mpi.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "mpi/launcher.hpp"
#include "mpi/mpi_comm.hpp"
#include "opening/mpi_end.hpp"
#include "tap/world_guard.hpp"

namespace cairn {

class SessionImpl;

// MPI has begun. Does nothing unless ckpt-run has started this job so, with just these processes: others keep their
// MPI_COMM_WORLD. Does not return on a head, nor where the roles are not those that ckpt-run has started. For jobs that
// do not repair themselves. Collective over MPI_COMM_WORLD.
void begin_job_world(const Launcher& launcher);

class JobWorld {
 public:
  // What this process is. Numbers are those of MPI_COMM_WORLD.
  struct Role {
    bool computes = false;
    bool repairs = false;       // the job repairs itself
    Peer caller;                // who calls this process, if it does not compute
    std::vector<Peer> calls{};  // whom this process calls
  };
  enum class Order : unsigned char {
    session,     // to Session::open()
    repairable,  // to a job that repairs itself
    end,         // MPI ends
  };

  // The one of this process; null: MPI_COMM_WORLD is as MPI made it.
  [[nodiscard]] static JobWorld* current();
  // Whether ckpt-run has started just these processes so. Others, which the application starts, have the environment of
  // this job, too. Local.
  [[nodiscard]] static bool is_as_started(const Launcher& launcher);
  // Ends the job: `error` is in its completion mark. Local.
  [[noreturn]] static void refuse(const Launcher& launcher, const Error& error);
  // Puts the application's world in MPI_COMM_WORLD's place. Where the job repairs itself, communication on that ends
  // the job until open_for_messages() is called. Ends the job on failure. Collective over `control`, which has all
  // processes.
  static void begin(std::unique_ptr<MpiComm> control, const Launcher& launcher, Role role);
  // What a process that does not compute, or no longer, does instead of returning from MPI_Init. Local.
  [[noreturn]] static void leave();

  // Whether heads serve a session that is opened on `comm`: it is the application's MPI_COMM_WORLD, or has the same
  // ranks in the same order. Local.
  [[nodiscard]] static bool is_whole(MPI_Comm comm);
  [[nodiscard]] bool repairs() const { return role_.repairs; }
  // The job of the session that the heads serve, which is one at a time; none: they serve none.
  [[nodiscard]] std::optional<std::string> served_job() const;
  // The heads join the session that all application ranks are about to open. Requires: they serve none. Local; each
  // application rank calls it.
  [[nodiscard]] Status call_heads() const;
  // All processes join the job that repairs itself. Local; each application rank calls it.
  [[nodiscard]] Status call_all_to_repairable_job() const;
  // They serve this session until it is finalized, or until the result is gone.
  [[nodiscard]] std::shared_ptr<const SessionImpl*> are_serving(const SessionImpl& session);
  void open_for_messages() { before_session_.reset(); }
  // A process has died. So others no longer wait for calls, and what was made in MPI_Init is MPI's to free.
  void note_repair() { was_repaired_ = true; }
  [[nodiscard]] bool was_repaired() const { return was_repaired_; }

  // For processes that do not compute. communication: the caller has died.
  [[nodiscard]] Result<Order> wait_for_order() const;
  // Until the session ends. Throws as Session::open().
  static void serve_session();

 private:
  JobWorld(std::unique_ptr<MpiComm> control, Role role, const Launcher& launcher);
  [[nodiscard]] Status call(Order order) const;
  void end();

  std::unique_ptr<MpiComm> control_;  // of all processes
  Role role_;
  std::weak_ptr<const SessionImpl*> serving_;
  std::unique_ptr<tap::WorldGuard> before_session_;
  bool was_repaired_ = false;
  MpiEnd at_end_;
};

}  // namespace cairn
