#include "mpi/failure_handler.hpp"

#include <csignal>
#include <cstdlib>
#include <exception>
#include <utility>

#include <cairn/error.hpp>

#include "mpi/ulfm.hpp"

namespace cairn {
namespace {

// The one of this process.
FailureHandler*& current() {
  static FailureHandler* handler = nullptr;
  return handler;
}

// Of this thread.
int& quiet_depth() {
  thread_local constinit int depth = 0;
  return depth;
}
int& deferred_depth() {
  thread_local constinit int depth = 0;
  return depth;
}

}  // namespace

void end_for_late_message(const Log& log, std::chrono::milliseconds after) {
  log.error(
      "MPI still receives a message of the application {} ms after a failure; this process ends, since the message "
      "could change restored data",
      after.count());
  (void)std::raise(SIGKILL);
  std::abort();
}

bool reports_failure(MPI_Comm comm, int code) {
  return ulfm::is_failure(code) || ulfm::is_revoked(comm) || ulfm::has_failed(comm);
}

FailureHandler::FailureHandler(MPI_Comm comm, MPI_Errhandler handler, std::shared_ptr<Lifeline> lifeline, bool throws)
    : comm_(comm), lifeline_(std::move(lifeline)), throws_(throws) {
  tap::set_handler(comm_, handler);
  current() = this;
}

FailureHandler::~FailureHandler() {
  current() = nullptr;
  tap::end_handling(comm_, lifeline_->is_cut());
}

FailureHandler::Quiet::Quiet() { ++quiet_depth(); }
FailureHandler::Quiet::~Quiet() { --quiet_depth(); }
FailureHandler::Deferred::Deferred() { ++deferred_depth(); }
FailureHandler::Deferred::~Deferred() { --deferred_depth(); }

tap::ErrorJudge::Tells FailureHandler::judge(MPI_Comm comm, int code) {
  using Tells = tap::ErrorJudge::Tells;
  if (quiet_depth() > 0) return Tells::nobody;
  if (tap::is_cairns_too(comm)) return ulfm::is_failure(code) ? Tells::nobody : Tells::anybody;
  if (current() != nullptr) return current()->handle(comm, code);
  return ulfm::is_failure(code) ? Tells::own : Tells::anybody;
}

tap::ErrorJudge::Tells FailureHandler::handle(MPI_Comm comm, int code) const {
  using Tells = tap::ErrorJudge::Tells;
  if (!lifeline_->is_cut() && !reports_failure(comm, code)) return Tells::anybody;
  lifeline_->cut();
  // A communicator that the application made: others may wait on it for this rank, which is about to leave.
  if (comm != comm_) lifeline_->adopt(comm);
  if (deferred_depth() == 0) {
    if (throws_ && std::uncaught_exceptions() == 0)
      throw Exception(ErrorKind::rollback, "a process died; roll back to the newest snapshot");
    if (told_by_code_) told_by_code_();
  }
  return throws_ ? Tells::nobody : Tells::own;
}

bool FailureHandler::tells_by_exceptions() { return current() != nullptr && current()->throws_; }

void FailureHandler::tell_of_failure() {
  if (current() != nullptr && !current()->throws_) MPI_Comm_call_errhandler(current()->comm_, MPI_ERR_OTHER);
}

}  // namespace cairn
