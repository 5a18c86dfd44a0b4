// What a Session has of MPI, beside the session proper. Where only the lost ranks roll back, it joins one repaired
// world after another, while the application keeps its communicator.
#pragma once

#include <mpi.h>

#include <memory>
#include <optional>
#include <string>

#include <cairn/cairn.hpp>

#include "base/error.hpp"
#include "guard/repair_calls.hpp"
#include "mpi/failure_handler.hpp"
#include "mpi/launcher.hpp"
#include "mpi/lifeline.hpp"
#include "mpi/logged_messages.hpp"
#include "mpi/mpi_comm.hpp"
#include "opening/mpi_end.hpp"
#include "opening/rehearsal_watch.hpp"
#include "opening/session_opening.hpp"
#include "session/session_impl.hpp"
#include "tap/call_ring.hpp"
#include "tap/family.hpp"
#include "tap/repair_guard.hpp"
#include "tap/world_guard.hpp"

namespace cairn {

[[nodiscard]] bool threads_may_communicate();
// A session of only some of the ranks need not have the numbers that ckpt-run was asked for, nor a rank for a head.
[[nodiscard]] bool has_all_ranks(MPI_Comm world);
// Ends the job for an error that would come again in its next life. `about`: the call that is wrong.
void end_for_mistake(const Launcher& launcher, const std::string& text, const char* about);

struct Session::Mpi {
  SessionImpl* impl = nullptr;  // the Session's
  std::unique_ptr<MpiComm> world;
  MPI_Comm ranks = MPI_COMM_NULL;  // the application's, which outlives the session: MPI_Finalize frees it
  std::shared_ptr<Lifeline> lifeline;
  std::unique_ptr<FailureHandler> handler;
  std::unique_ptr<tap::CallRing> ring;  // records the application's MPI calls; null: they are not recorded
  std::optional<tap::Listening> ring_listens;
  std::unique_ptr<CallWatcher> watcher;       // records the session's calls there, too
  std::unique_ptr<RehearsalWatch> rehearsal;  // notes them, too; null: this is no rehearsal
  std::optional<tap::Listening> rehearsal_listens;
  std::unique_ptr<tap::Family> family;      // what the application makes from `ranks`
  std::unique_ptr<tap::WorldGuard> guard;   // where not all ranks compute
  std::unique_ptr<LoggedMessages> carrier;  // where only the lost ranks roll back
  std::optional<tap::Carrying> carrying;
  std::unique_ptr<RepairCalls> calls;  // where failures are repaired
  std::optional<tap::Guarding> guarding;
  std::unique_ptr<MpiEnd> end;
  std::shared_ptr<const SessionImpl*> served;  // by the heads of a JobWorld; null: no such heads
  State state = State::fresh;
  FailureTopology failures;

  static Environment environment_of(MpiComm& world, const Opening& opening, const Launcher& launcher);
  void join(MPI_Comm comm, const Opening& opening);
  void hear_calls(const Opening& opening);
  void note_calls(const std::string& directory);
  void guard_world(const Opening& opening, const Launcher& launcher);
  void leave_mark_of(const Error& error, const Launcher& launcher);
  void carry_messages(const Opening& opening);
  // The communicator that stands for `ranks` now.
  [[nodiscard]] MPI_Comm twin() const;
  // Cairn's own of the same ranks.
  [[nodiscard]] MPI_Comm own() const;

  // A survivor leaves a world in which a process has died. False: MPI still uses memory of the application.
  [[nodiscard]] bool leave_world();
  // It joins the repaired world, and returns the application's communicator there. Collective over that world: a
  // replacement opens a session. communication: another process has died.
  [[nodiscard]] Result<MPI_Comm> enter_world(const Opening& opening);
  // There its messages go on.
  void go_on(MPI_Comm twin, const Opening& opening);
};

}  // namespace cairn
