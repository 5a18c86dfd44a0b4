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
#include "repair/failure_vote.hpp"
#include "repair/resilient.hpp"

namespace cairn {
namespace {

using Work = std::function<void(Session&)>;
using Kind = CompletionMark::Kind;

// An error that the application's function or Cairn has thrown.
struct Thrown {
  std::optional<ErrorKind> kind;  // none: it is not one of Cairn
  std::string text;
  Cause cause;
};

// Nothing if `call` throws nothing.
std::optional<Thrown> thrown_by(const std::function<void()>& call) {
  try {
    call();
    return {};
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

void log(const Thrown& error) { Log(LogLevel::error).error("{}", error.text); }

// An error of one rank alone: other ranks may wait for it.
[[noreturn]] void end_job(MPI_Comm world, std::uint32_t rank, const Thrown& error) {
  const auto launcher = Launcher::from_environment().value_or(Launcher{});
  launcher.end_job(world, mark_of(error, fmt::format("rank {}: {}", rank, error.text)));
  std::_Exit(EXIT_FAILURE);
}

// The session could not be opened.
int fail_to_open(MPI_Comm world, const Thrown& error) {
  int rank = 0;
  MPI_Comm_rank(world, &rank);
  if (!error.kind) end_job(world, static_cast<std::uint32_t>(rank), error);
  report_failed_opening(world, *error.kind, [&] { log(error); });
  return EXIT_FAILURE;
}

// The application has failed on this rank. Ends the job if it has not failed on the others.
int fail_application(std::unique_ptr<Session> session, FailureVote& vote, MPI_Comm world, const Thrown& error) {
  const auto first = vote.settle(true, patience_with(error.kind.value_or(ErrorKind::usage)), [&] {
    Launcher::from_environment().value_or(Launcher{}).tell(mark_of(error, error.text));
  });
  if (!first) end_job(world, vote.rank(), error);
  session.reset();
  return EXIT_FAILURE;
}

int run_once(MPI_Comm world, const std::string& config, const Work& application) {
  std::unique_ptr<Session> session;
  if (const auto error = thrown_by([&] { session = Session::open(world, config); })) return fail_to_open(world, *error);
  if (!session) return EXIT_SUCCESS;
  FailureVote vote(session->comm());
  if (const auto error = thrown_by([&] { application(*session); }))
    return fail_application(std::move(session), vote, world, *error);
  // After this no rank waits for another, even if it throws.
  constexpr std::chrono::seconds kPatience{5};
  const auto error = thrown_by([&] { session->finalize(); });
  const auto first = vote.settle(error.has_value(), kPatience, [&] { log(*error); });
  if (error && !first) log(*error);
  return error || first.value_or(vote.size()) < vote.size() ? EXIT_FAILURE : EXIT_SUCCESS;
}

int run_resilient(Resilient& job, const Work& application) {
  const auto error = thrown_by([&] {
    while (auto session = job.enter()) {
      const auto left = thrown_by([&] { application(*session); });
      if (!left) {
        job.complete(std::move(session));
      } else if (left->kind == ErrorKind::rollback) {
        job.roll_back(std::move(session));
      } else if (!job.rolls_back_instead(session, left->text)) {
        if (left->kind) let_rank_0_tell(session->rank(), *left->kind);
        job.give_up(mark_of(*left, left->text));
      }
    }
  });
  if (!error) return EXIT_SUCCESS;
  // Of this process alone: the others wait for it.
  if (!error->kind) job.give_up(mark_of(*error, error->text));
  if (job.is_first()) log(*error);
  return EXIT_FAILURE;
}

}  // namespace

int run(MPI_Comm world, const std::string& config, const Work& application) {
  return run(world, config, application, {});
}

int run(MPI_Comm world, const std::string& config, const Work& application, const ComputePart& compute_part) {
  std::unique_ptr<Resilient> job;
  const auto start = [&] { job = Resilient::if_wanted(world, config, Resilient::Tells::by_exception, compute_part); };
  if (const auto error = thrown_by(start)) return fail_to_open(world, *error);
  return job ? run_resilient(*job, application) : run_once(world, config, application);
}

}  // namespace cairn
