// A job with [job] world = application: the application's MPI_COMM_WORLD has no heads. Roles are given in MPI_Init, as
// Session::open gives them: from the hosts and from what ckpt-run hands over. A head does not return from there. It
// sleeps until its node's first application rank calls it to a session, or to the end.
#pragma once

#include <mpi.h>

#include <memory>
#include <optional>

#include "base/error.hpp"
#include "mpi/mpi_comm.hpp"
#include "mpi/mpi_end.hpp"

namespace cairn {

class SessionImpl;

// MPI has begun. Does nothing unless ckpt-run has started this job so, with just these processes: others keep their
// MPI_COMM_WORLD. Does not return on a head, nor where the roles are not those that ckpt-run has started. Collective
// over MPI_COMM_WORLD.
void begin_job_world();

class JobWorld {
 public:
  // The one of this process; null: MPI_COMM_WORLD is as MPI made it.
  [[nodiscard]] static JobWorld* current();

  // Whether heads serve a session that is opened on `comm`: it is the application's MPI_COMM_WORLD, or has the same
  // ranks in the same order. Local.
  [[nodiscard]] static bool is_whole(MPI_Comm comm);
  // The heads join the session that all application ranks are about to open. invalid_argument: they still serve one.
  // Local; each application rank calls it.
  [[nodiscard]] Status call_heads() const;
  // They serve this session until it is finalized, or until the result is gone.
  [[nodiscard]] std::shared_ptr<const SessionImpl*> are_serving(const SessionImpl& session);

 private:
  friend void begin_job_world();
  enum class Order : unsigned char { session, end };
  JobWorld(std::unique_ptr<MpiComm> control, Peer first, std::optional<Peer> head);
  [[noreturn]] void serve();
  [[nodiscard]] Status call(Order order) const;
  void end();

  std::unique_ptr<MpiComm> control_;  // of all processes
  Peer first_;                        // the first application rank of this node
  std::optional<Peer> head_;          // of this node, if this process is that rank
  std::weak_ptr<const SessionImpl*> serving_;
  MpiEnd at_end_;
};

}  // namespace cairn
