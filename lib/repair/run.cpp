#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <cairn/cairn.hpp>

#include "base/log.hpp"
#include "mpi/launcher.hpp"
#include "mpi/mpi_request.hpp"
#include "repair/failure_vote.hpp"
#include "repair/resilient.hpp"
#include "repair/run.hpp"

namespace cairn {
namespace {

using Work = std::function<void(Session&)>;
using Kind = CompletionMark::Kind;

// An error that the application's function or Cairn has thrown.
struct Thrown {
  std::optional<ErrorKind> kind;  // none: it is not one of Cairn
  std::string text;
  Cause cause;
  bool is_logged = false;
};

// Nothing if `call` throws nothing.
std::optional<Thrown> thrown_by(const std::function<void()>& call) {
  try {
    call();
    return {};
  } catch (const LoggedError& error) {
    return Thrown{error.kind(), error.what(), cause_of(error), true};
  } catch (const Exception& error) {
    return Thrown{error.kind(), error.what(), cause_of(error)};
  } catch (const std::exception& error) {
    return Thrown{{}, error.what(), cause_of(error)};
  } catch (...) {
    return Thrown{{}, "an exception of unknown type left the application", {Cause::Source::exception, {}, {}}};
  }
}

// The completion mark that reports the error to ckpt-run.
CompletionMark mark_of(const Thrown& error, const std::string& text) {
  return {error.kind && restart_would_surely_fail(*error.kind) ? Kind::error : Kind::failed, text, {}, error.cause};
}

constexpr const char* kEndedMpi =
    "the application called MPI_Finalize inside cairn::run: the job ends. Call it after cairn::run";

void log(const Thrown& error) {
  if (!error.is_logged) Log(LogLevel::error).error("{}", error.text);
}
Ending failed(const Thrown& error) { return {EXIT_FAILURE, error.text}; }

// An error of one rank alone: other ranks may wait for it.
[[noreturn]] void end_job(MPI_Comm world, std::uint32_t rank, const Thrown& error) {
  const auto launcher = Launcher::from_environment().value_or(Launcher{});
  const CompletionMark why = mark_of(error, fmt::format("rank {}: {}", rank, error.text));
  if (!error.is_logged) launcher.end_job(world, why);
  launcher.leave(why);
  MPI_Abort(world, EXIT_FAILURE);
  std::_Exit(EXIT_FAILURE);
}

// The session could not be opened.
Ending fail_to_open(MPI_Comm world, const Thrown& error) {
  int rank = 0;
  MPI_Comm_rank(world, &rank);
  if (!error.kind) end_job(world, static_cast<std::uint32_t>(rank), error);
  report_failed_opening(world, *error.kind, [&] { log(error); });
  return failed(error);
}

// The application has failed on this rank. Ends the job if it has not failed on the others.
Ending fail_application(std::unique_ptr<Session> session, FailureVote& vote, MPI_Comm world, const Thrown& error) {
  const auto first = vote.settle(true, patience_with(error.kind.value_or(ErrorKind::usage)), [&] {
    log(error);
    Launcher::from_environment().value_or(Launcher{}).leave(mark_of(error, error.text));
  });
  if (!first) end_job(world, vote.rank(), error);
  session.reset();
  return failed(error);
}

Ending run_once(MPI_Comm world, const std::string& config, const Work& application) {
  std::unique_ptr<Session> session;
  if (const auto error = thrown_by([&] { session = Session::open(world, config); })) return fail_to_open(world, *error);
  if (!session) return {};
  FailureVote vote(session->comm());
  const auto left = thrown_by([&] { application(*session); });
  if (!mpi_is_running()) return {EXIT_FAILURE, kEndedMpi};  // the log has it
  if (left) return fail_application(std::move(session), vote, world, *left);
  // After this no rank waits for another, even if it throws.
  constexpr std::chrono::seconds kPatience{5};
  const auto error = thrown_by([&] { session->finalize(); });
  const auto first = vote.settle(error.has_value(), kPatience, [&] { log(*error); });
  if (error && !first) log(*error);
  if (error) return failed(*error);
  if (first.value_or(vote.size()) == vote.size()) return {};
  return {EXIT_FAILURE, fmt::format("rank {} could not finalize its session; its log has the error", *first)};
}

Ending run_resilient(Resilient& job, const Work& application) {
  const auto error = thrown_by([&] {
    while (auto session = job.enter()) {
      const auto left = thrown_by([&] { application(*session); });
      if (!mpi_is_running()) {
        job.give_up({Kind::failed, kEndedMpi, {}, Cause{Cause::Source::exit, {}, {}}});
      } else if (!left) {
        job.complete(std::move(session));
      } else if (left->kind == ErrorKind::rollback) {
        job.roll_back(std::move(session));
      } else if (!job.rolls_back_instead(session, left->text)) {
        if (left->kind) let_rank_0_tell(session->rank(), *left->kind);
        job.give_up(mark_of(*left, left->text), left->is_logged);
      }
    }
  });
  if (!error) return {};
  // Of this process alone: the others wait for it.
  if (!error->kind) job.give_up(mark_of(*error, error->text));
  if (job.is_first()) log(*error);
  return failed(*error);
}

}  // namespace

int run(MPI_Comm world, const std::string& config, const Work& application) {
  return run(world, config, application, {});
}

int run(MPI_Comm world, const std::string& config, const Work& application, const ComputePart& compute_part) {
  return run_application(world, config, application, compute_part).code;
}

Ending run_application(MPI_Comm world, const std::string& config, const Work& application,
                       const ComputePart& compute_part) {
  if (Resilient::exists()) {
    const Thrown error{ErrorKind::usage, kHasSession, {}};
    log(error);
    return failed(error);
  }
  std::unique_ptr<Resilient> job;
  const auto start = [&] { job = Resilient::if_wanted(world, config, Resilient::Tells::by_exception, compute_part); };
  if (const auto error = thrown_by(start)) return fail_to_open(world, *error);
  return job ? run_resilient(*job, application) : run_once(world, config, application);
}

}  // namespace cairn
