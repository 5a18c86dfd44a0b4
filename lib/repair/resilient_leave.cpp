// An application that does not leave its calls after a failure: no exception can, or nobody looks at codes.
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <exception>

#include <fmt/format.h>

#include "base/log.hpp"
#include "repair/resilient.hpp"

namespace cairn {
namespace {

bool is_rollback(const std::exception_ptr& exception) {
  if (!exception) return false;
  try {
    std::rethrow_exception(exception);
  } catch (const Exception& error) {
    return error.kind() == ErrorKind::rollback;
  } catch (...) {
    return false;
  }
}

}  // namespace

// Survivors would die one after the other of each failure, and no spare helps against that.
void Resilient::on_terminate() {
  Resilient* const job = current();
  if (job != nullptr && is_rollback(std::current_exception())) {
    job->give_up(
        {CompletionMark::Kind::failed,
         job->pool_->my_name() +
             " cannot roll back after a failure, since no exception can leave its application: the job ends. "
             "Compile C and Fortran with -fexceptions, and make MPI and Cairn calls outside of OpenMP regions, "
             "other threads and noexcept functions",
         {},
         Cause{Cause::Source::exception, {}, "no exception can leave the application"}});
  }
  const std::terminate_handler before = job != nullptr ? job->terminate_ : nullptr;
  before != nullptr ? before() : std::abort();
}

// The others wait for this process before they repair the job.
void Resilient::note_failed_call() {
  if (tells_ == Tells::by_exception) return;
  const auto since = failed_calls_.add(FailedCalls::Clock::now(), pool_->config().recovery.limit);
  if (!since) return;
  Log(pool_->config().log.level)
      .error(
          "{} has made {} calls that failed in the {} s since a process died ([recovery] limit), and has not called "
          "cairn_recover: this process ends, and is replaced. Test the codes of calls, or use cairn_run",
          pool_->my_name(), FailedCalls::kMost, std::chrono::duration_cast<std::chrono::seconds>(*since).count());
  (void)std::raise(SIGKILL);
  std::abort();
}

}  // namespace cairn
