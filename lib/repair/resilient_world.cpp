// Repair in a job with [job] world = application. Heads and spares wait in MPI_Init, and a process that takes over
// there has a session before its application calls run() or cairn_init(). MPI_COMM_WORLD stands for the communicator of
// the newest session.
#include <utility>

#include "base/log.hpp"
#include "mpi/failure_handler.hpp"
#include "opening/job_world.hpp"
#include "opening/session_parts.hpp"
#include "repair/resilient.hpp"
#include "session/exception.hpp"
#include "tap/world.hpp"

namespace cairn {
namespace {

// The job of this process that has taken over, until its application asks for it.
std::unique_ptr<Resilient>& waiting() {
  static std::unique_ptr<Resilient> job;
  return job;
}

}  // namespace

bool Resilient::exists() { return current() != nullptr && !waiting(); }

bool Resilient::wait_to_take_over(MPI_Comm all) {
  auto job = if_wanted(all, {}, Tells::by_code);
  if (!job) return false;
  job->taken_ = job->enter();
  if (!job->taken_) return false;
  waiting() = std::move(job);
  return true;
}

std::unique_ptr<Resilient> Resilient::taken_over(MPI_Comm world, Tells tells, ComputePart& compute_part) {
  if (!waiting() || !JobWorld::is_whole(world)) return nullptr;
  auto job = std::move(waiting());
  job->tells_ = tells;
  job->compute_part_ = std::move(compute_part);
  job->taken_->mpi_->handler->tell_by_exceptions(tells == Tells::by_exception);
  return job;
}

// The communicator of all processes that take part.
MPI_Comm Resilient::call_others(MPI_Comm world) {
  JobWorld* const job = JobWorld::current();
  if (job == nullptr || !job->repairs() || world == tap::all_processes()) return world;
  if (!JobWorld::is_whole(world)) {
    value_or_throw<void>(fail(Code::config, "[job] world = application: only MPI_COMM_WORLD can be repaired",
                              "give that to cairn::run or cairn_init; or set [recovery] mode = restart"));
  }
  if (job->was_repaired()) {
    value_or_throw<void>(fail(Code::invalid_argument, "this job was repaired, and cannot be opened once more",
                              "do all work in one session, or set [recovery] mode = restart"));
  }
  value_or_throw(job->call_all_to_repairable_job());
  return tap::all_processes();
}

void Resilient::follow_world(const Session& session) {
  if (!tap::is_world_replaced()) return;
  const bool is_new = session.comm() != tap::application_world();
  if (is_new) tap::follow_world(session.comm());
  if (is_new && session.rank() == 0 && !std::exchange(told_of_attributes_, true)) {
    Log(pool_->config().log.level)
        .info(
            "MPI_COMM_WORLD is a new communicator after a repair: it keeps its name and error handler, but no "
            "attributes of the application");
  }
  if (JobWorld* const job = JobWorld::current()) job->open_for_messages();
}

// The application may use MPI_COMM_WORLD after the session. If only the lost have rolled back, survivors still have
// their first communicator, which is revoked.
void Resilient::keep_world(const Session& session) const {
  if (!tap::is_world_replaced()) return;
  const MPI_Comm twin = session.mpi_->twin();
  if (twin == session.comm()) return;
  pool_->lifeline()->remove(twin);
  tap::follow_world(twin);
}

}  // namespace cairn
