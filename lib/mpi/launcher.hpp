// What ckpt-run has told this job, if it started it: where to leave the completion mark, what was started, whether an
// earlier life took snapshots, and what the life before lost. A value; empty in a job that was started in another way.
#pragma once

#include <mpi.h>

#include <optional>
#include <string>

#include <cairn/failure_topology.hpp>

#include "base/error.hpp"
#include "comm/comm.hpp"
#include "session/handover.hpp"

namespace cairn {

struct Launcher {
  std::string mark;  // path of the launch's own; empty: no marks are wanted
  FailureTopology failures;
  std::optional<StartedNumbers> started;
  std::optional<StartedWorld> world;  // none: MPI_COMM_WORLD is as MPI makes it
  // A rank of ckpt-run's job has started these processes, by MPI or by another mpirun, and they have its environment.
  // Then `started` and `failures`, which are of ckpt-run's own processes, are empty.
  bool by_a_rank = false;
  bool goes_on = false;
  std::string ended;      // names of sessions that have finished in an earlier life
  std::string rehearsal;  // a directory of planned deaths; empty: none are

  [[nodiscard]] bool has_ended(const Config& session) const;
  // As this process's environment says. MPI has begun. Local.
  [[nodiscard]] static Result<Launcher> from_environment();
  // Notes in the environment that this process uses it, so that processes that it starts can find out. Local.
  static void take_environment();
  // The same of rank 0, told to all: a process that was spawned later may have another environment. What rank 0 was
  // `told` of the last failure counts more than what ckpt-run knew, where it is not empty. Collective.
  [[nodiscard]] static Result<Launcher> share(Comm& world, const FailureTopology& told);

  // Without a mark, or with `opened`, the job counts as failed. `failed` does not replace another end that was already
  // left. What is left here is the launch's own mark, of processes without a session. Local.
  void leave(const CompletionMark& mark_to_leave) const;
  // The same with the mark of a session. Opening one clears the launch's own mark, which is of an earlier try. `none`
  // is for a session that could not be opened after all: then the launch's own mark says that one was opened. Local.
  void leave(const Config& session, const CompletionMark& mark_to_leave) const;
  // The same with an error, if a restart would fail in the same way.
  void leave(const Error& error) const;
  // Says on the terminal why the job fails, and leaves that. Local.
  void tell(const CompletionMark& why) const;
  // The same, and ends the job: the other ranks wait for this one, and would for ever. Local.
  void end_job(MPI_Comm world, const CompletionMark& why) const;
};

}  // namespace cairn
