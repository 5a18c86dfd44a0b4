#include "mpi/failure_handler.hpp"

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

bool reports_failure(MPI_Comm comm, int code) {
  return ulfm::is_failure(code) || ulfm::is_revoked(comm) || ulfm::has_failed(comm);
}

FailureHandler::FailureHandler(MPI_Comm comm, std::shared_ptr<Lifeline> lifeline, bool throws)
    : comm_(comm), lifeline_(std::move(lifeline)), throws_(throws) {
  MPI_Comm_get_errhandler(comm_, &before_);
  MPI_Comm_create_errhandler(&FailureHandler::on_error, &mine_);
  MPI_Comm_set_errhandler(comm_, mine_);
  current() = this;
}

FailureHandler::~FailureHandler() {
  current() = nullptr;
  // Of a session that has lost a process only void requests are left.
  MPI_Comm_set_errhandler(comm_, lifeline_->is_cut() ? MPI_ERRORS_RETURN : before_);
  MPI_Errhandler_free(&mine_);
  MPI_Errhandler_free(&before_);
}

FailureHandler::Quiet::Quiet() { ++quiet_depth(); }
FailureHandler::Quiet::~Quiet() { --quiet_depth(); }
FailureHandler::Deferred::Deferred() { ++deferred_depth(); }
FailureHandler::Deferred::~Deferred() { --deferred_depth(); }

void FailureHandler::on_error(MPI_Comm* comm, int* code, ...) {
  if (current() != nullptr && quiet_depth() == 0) current()->handle(*comm, *code);
}

void FailureHandler::handle(MPI_Comm comm, int code) const {
  if (!lifeline_->is_cut() && !reports_failure(comm, code)) {
    MPI_Comm_set_errhandler(comm, before_);
    MPI_Comm_call_errhandler(comm, code);
    MPI_Comm_set_errhandler(comm, mine_);
    return;
  }
  lifeline_->cut();
  // A communicator that the application made: others may wait on it for this rank, which is about to leave.
  if (comm != comm_) lifeline_->adopt(comm);
  if (throws_ && deferred_depth() == 0 && std::uncaught_exceptions() == 0) {
    throw Exception(ErrorKind::rollback, "a process died; roll back to the newest snapshot");
  }
}

}  // namespace cairn
