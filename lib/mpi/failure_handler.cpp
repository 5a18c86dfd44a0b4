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

void ignore_error(MPI_Comm* /*comm*/, int* /*code*/, ...) {}

// Cairn's own, which no application has: so it is known whether an application has set another one. They last as long
// as MPI.
struct Handlers {
  MPI_Errhandler hears = MPI_ERRHANDLER_NULL;
  MPI_Errhandler returns = MPI_ERRHANDLER_NULL;  // as MPI_ERRORS_RETURN does
};
const Handlers& handlers() {
  static const Handlers handlers = [] {
    Handlers made;
    MPI_Comm_create_errhandler(&FailureHandler::on_error, &made.hears);
    MPI_Comm_create_errhandler(&ignore_error, &made.returns);
    return made;
  }();
  return handlers;
}

bool is_on(MPI_Comm comm, MPI_Errhandler handler) {
  MPI_Errhandler there = MPI_ERRHANDLER_NULL;
  MPI_Comm_get_errhandler(comm, &there);
  const bool same = there == handler;
  MPI_Errhandler_free(&there);
  return same;
}

}  // namespace

bool reports_failure(MPI_Comm comm, int code) {
  return ulfm::is_failure(code) || ulfm::is_revoked(comm) || ulfm::has_failed(comm);
}

FailureHandler::FailureHandler(MPI_Comm comm, std::shared_ptr<Lifeline> lifeline, bool throws)
    : comm_(comm), lifeline_(std::move(lifeline)), throws_(throws) {
  MPI_Comm_get_errhandler(comm_, &before_);
  MPI_Comm_set_errhandler(comm_, handlers().hears);
  current() = this;
}

FailureHandler::~FailureHandler() {
  current() = nullptr;
  // Of a session that has lost a process only void requests are left.
  if (is_on(comm_, handlers().hears))
    MPI_Comm_set_errhandler(comm_, lifeline_->is_cut() ? handlers().returns : before_);
  MPI_Errhandler_free(&before_);
}

void FailureHandler::follow(MPI_Comm from, MPI_Comm to) {
  if (is_on(from, handlers().hears) || is_on(from, handlers().returns)) return;
  MPI_Errhandler own = MPI_ERRHANDLER_NULL;
  MPI_Comm_get_errhandler(from, &own);
  MPI_Comm_set_errhandler(to, own);
  MPI_Errhandler_free(&own);
}

void FailureHandler::set(MPI_Comm to, MPI_Errhandler handler) {
  MPI_Comm_set_errhandler(to, handler == handlers().returns ? handlers().hears : handler);
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
    MPI_Comm_set_errhandler(comm, handlers().hears);
    return;
  }
  lifeline_->cut();
  // A communicator that the application made: others may wait on it for this rank, which is about to leave.
  if (comm != comm_) lifeline_->adopt(comm);
  if (deferred_depth() != 0) return;
  if (throws_ && std::uncaught_exceptions() == 0)
    throw Exception(ErrorKind::rollback, "a process died; roll back to the newest snapshot");
  if (told_by_code_) told_by_code_();
}

}  // namespace cairn
