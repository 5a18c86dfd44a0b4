#include <chrono>
#include <exception>
#include <thread>
#include <utility>

#include <cairn/cairn.hpp>

#include "mpi/launcher.hpp"
#include "repair/resilient.hpp"

namespace cairn {
namespace {

using Application = std::function<void(Session&)>;
using EndJob = std::function<void(const CompletionMark&)>;
using Kind = CompletionMark::Kind;

// All application ranks have the same such error (mismatch, unrecoverable), from restore(). Rank 0 reports it and then
// ends the job. The others must not end the job before that; they do so only if rank 0 does not.
void let_rank_0_tell(const Session& session, const Exception& error) {
  constexpr std::chrono::seconds kLongEnough{5};
  if (session.rank() == 0) return;
  if (error.kind() == ErrorKind::mismatch || error.kind() == ErrorKind::unrecoverable)
    std::this_thread::sleep_for(kLongEnough);
}

// False if the application was left because a process has died.
bool came_to_its_end(Session& session, const Application& application, const EndJob& end) {
  try {
    application(session);
  } catch (const Exception& error) {
    if (error.kind() == ErrorKind::rollback) return false;
    let_rank_0_tell(session, error);
    end({restart_would_surely_fail(error.kind()) ? Kind::error : Kind::failed, error.what()});
  } catch (const std::exception& error) {
    end({Kind::failed, error.what()});
  } catch (...) {
    end({Kind::failed, "an exception of unknown type left the application"});
  }
  return true;
}

void run_once(MPI_Comm world, const std::string& config, const Application& application) {
  // An error that all ranks have is thrown on all of them, and the caller decides.
  const auto session = Session::open(world, config);
  if (!session) return;
  came_to_its_end(*session, application, [&](const CompletionMark& why) {
    Launcher::from_environment().value_or(Launcher{}).end_job(world, why);
  });
  // After this no rank waits for another, even if it throws.
  session->finalize();
}

void run_resilient(Resilient& job, const Application& application) {
  const auto end = [&](const CompletionMark& why) { job.give_up(why); };
  while (auto session = job.enter()) {
    if (came_to_its_end(*session, application, end)) {
      job.complete(std::move(session));
    } else {
      job.roll_back(std::move(session));
    }
  }
}

}  // namespace

void run(MPI_Comm world, const std::string& config, const Application& application) {
  if (const auto job = Resilient::if_wanted(world, config, Resilient::Tells::by_exception)) {
    run_resilient(*job, application);
  } else {
    run_once(world, config, application);
  }
}

}  // namespace cairn
