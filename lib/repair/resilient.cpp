#include "repair/resilient.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "base/log.hpp"
#include "mpi/mpi_comm.hpp"
#include "mpi/mpi_request.hpp"
#include "opening/job_world.hpp"
#include "opening/session_opening.hpp"
#include "opening/session_parts.hpp"
#include "repair/respawn.hpp"
#include "session/exception.hpp"
#include "session/shared_setup.hpp"
#include "session/stop_signal.hpp"
#include "tap/hear.hpp"
#include "tap/world.hpp"
#include "tap/world_guard.hpp"

namespace cairn {
namespace {

using Role = Member::Role;

constexpr std::uint32_t kMostRepairsWithoutEffect = 3;
// Failures may come in bursts, but this many in a row probably have a common cause.
constexpr std::uint32_t kMostRepairsWithoutProgress = 8;

// A process that writes to a dead peer's socket, or fails to start others, must get an error and not die as well.
void prepare_process() {
  tap::return_errors(MPI_COMM_SELF);
  struct sigaction action {};
  if (sigaction(SIGPIPE, nullptr, &action) != 0 || action.sa_handler != SIG_DFL) return;
  action.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &action, nullptr);
}

// With several threads, the TCP transport of Open MPI 5.0 locks a connection while it handles the peer's death. It
// blocks forever if it has an answer for that peer. Seen in MPI_Finalize, after a new process had ended before others.
void warn_of_threads(const Pool& pool) {
  int provided = MPI_THREAD_SINGLE;
  MPI_Query_thread(&provided);
  if (provided != MPI_THREAD_MULTIPLE || !pool.is_first() || pool.state().repairs > 0) return;
  Log(pool.config().log.level)
      .warning(
          "MPI runs with MPI_THREAD_MULTIPLE: after a death, Open MPI 5.0 may block a process forever if it uses TCP. "
          "Ask for MPI_THREAD_SERIALIZED; in Python, set mpi4py.rc.thread_level = \"serialized\" before the import of "
          "MPI");
}

}  // namespace

Resilient*& Resilient::current() {
  static Resilient* job = nullptr;
  return job;
}

Resilient::Resilient(MPI_Comm world, std::unique_ptr<Pool> pool, Tells tells, ComputePart compute_part)
    : world_(world),
      tells_(tells),
      compute_part_(std::move(compute_part)),
      pool_(std::move(pool)),
      repairs_(*this, pool_->verdict().only_lost_roll_back) {
  // MPI reports deaths on this communicator too, whether or not Cairn uses it.
  MPI_Comm_get_errhandler(tap::is_world_replaced() ? tap::application_world() : world_, &errhandler_);
  judging_.emplace(judge_);
  tap::return_errors(world_);
  if (pool_->config().recovery.straggler_limit) show_stack_when_asked();
  // Also for spares, which have no session: launchers send the signal to every process.
  if (const auto& signal = pool_->config().restart.stop_signal) StopSignal::watch(*signal);
  warn_if_parts_cannot_be_computed();
  warn_of_threads(*pool_);
  form_helper_team();  // a newcomer has joined in a repair
  current() = this;
  static const int registered = std::atexit(&Resilient::on_exit);
  (void)registered;
}

// A process that dies before there is a pool cannot be replaced. A process that detects the death ends the job, so that
// the others do not wait; ckpt-run can then start the job again.
template <class T>
T at_start(MPI_Comm world, Result<T> result) {
  if (result || result.error().code != Code::communication) return value_or_throw(std::move(result));
  const std::string text = "a process died while the job started: " + result.error().text();
  Launcher::from_environment()
      .value_or(Launcher{})
      .end_job(world, {CompletionMark::Kind::failed, text, {}, cause_of(result.error())});
  std::_Exit(EXIT_FAILURE);
}

std::unique_ptr<Resilient> Resilient::if_wanted(MPI_Comm caller, const std::string& config_file, Tells tells,
                                                ComputePart compute_part) {
  if (auto job = taken_over(caller, tells, compute_part)) return job;
  tap::check_opening("cairn::run or cairn_init", caller);
  const MPI_Comm world = call_others(caller);
  std::unique_ptr<Pool> pool;
  if (respawn::is_newcomer()) {
    prepare_process();
    pool = value_or_throw(Pool::join(world));
  } else {
    const auto comm = at_start(world, MpiComm::duplicate(world));
    const auto source = at_start(world, share_config_source(*comm, config_file));
    if (value_or_throw(parse_config(source)).recovery.mode == Config::Recovery::Mode::restart) return nullptr;
    prepare_process();
    pool = at_start(world, Pool::start(world, source));
  }
  std::unique_ptr<Resilient> job(new Resilient(world, std::move(pool), tells, std::move(compute_part)));
  job->end_if_repairs_do_not_help();
  return job;
}

// Open MPI 5.0 does not report a process that exits. A forked child of this process inherits the handler, and must not
// use it.
void Resilient::on_exit() {
  Resilient* const job = std::exchange(current(), nullptr);
  if (job == nullptr || job->over_ || this_process() != job->process_) return;
  job->give_up({CompletionMark::Kind::failed,
                job->pool_->my_name() +
                    " called exit() before the job finished: the job ends. Let it call MPI_Abort after an error",
                {},
                Cause{Cause::Source::exit, {}, {}}});
}

Resilient::~Resilient() {
  std::set_terminate(terminate_);
  if (current() == this) current() = nullptr;
  judging_.reset();
  tap::end_handling(world_, false);
}

void Resilient::end_job(const std::string& text, const Cause& cause) const {
  pool_->launcher().tell({CompletionMark::Kind::failed, text, {}, cause});
  abort_mpi();
}

void Resilient::abort_mpi() const {
  current() = nullptr;
  // If MPI is no longer running, the others see that this process is gone.
  if (mpi_is_running()) MPI_Abort(world_, EXIT_FAILURE);
  std::_Exit(EXIT_FAILURE);
}

// MPI_Abort ends only the processes that were started with this one. Processes that were started later would detect
// their deaths and start new ones; so they must get the reason at a meeting.
void Resilient::give_up(const CompletionMark& why, bool is_logged) {
  is_logged ? pool_->launcher().leave(why) : pool_->launcher().tell(why);
  int is_main = 0;
  if (mpi_is_running()) MPI_Is_thread_main(&is_main);
  if (is_main == 0 || pool_->is_of_one_start()) abort_mpi();
  vote_.gives_up = true;
  alarm();
  session_ = nullptr;  // nothing of it continues
  repairs_.meet();
  abort_mpi();
}

std::unique_ptr<Session> Resilient::enter() {
  if (taken_) return std::move(taken_);
  while (!over_) {
    const Role role = pool_->me().role;
    if (role == Role::spare) {
      const SignalsOfOthers ignored;
      pool_->wait_as_spare([this] {
        if (helpers_) helpers_->help();
      });
    } else {
      try {
        // A head gets no session: it has served to the end.
        if (auto session = open()) return session;
      } catch (const Exception& error) {
        // Survivors are in their calls yet. They roll back, and then all have the same error.
        const bool others_stay = repairs_.only_lost_roll_back();
        const bool failure = is_failure(error);
        if (!failure && !others_stay) {
          vote_.done = true;  // all know of the same error
          error_ = std::current_exception();
        }
        if (!failure || error.kind() == ErrorKind::rollback)
          repairs_.cannot_go_on({error.what(), rollback::Obstacle::Weight::known});
        alarm();
      }
    }
    repairs_.meet();
  }
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  return nullptr;
}

std::unique_ptr<Session> Resilient::open() {
  repairs_.opens();
  auto session = Session::open(opening());
  entered_ = session != nullptr;
  session_ = session ? session->mpi_.get() : nullptr;
  failed_calls_.forget();
  if (session) follow_world(*session);
  return session;
}

Session::Opening Resilient::opening() {
  Session::Opening opening;
  opening.world = pool_->world();
  opening.failures = pool_->verdict().failures;
  opening.launcher = pool_->launcher();
  if (pool_->state().repairs > 0) {  // these facts are those of the start of the life
    opening.launcher->failures = {};
    opening.launcher->started.reset();
  }
  opening.errhandler = errhandler_;
  if (tap::is_world_replaced() && pool_->state().repairs == 0 && pool_->me().role == Role::rank)
    opening.ranks = tap::application_world();
  opening.repaired = RepairedWorld{pool_->config(), pool_->seats()};
  // The application has begun already: it must now continue, even if the job was started with mode = fresh or required.
  if (pool_->state().under_way) opening.repaired->config.restart.mode = Config::Restart::Mode::automatic;
  opening.lifeline = pool_->lifeline();
  opening.memory = memory_;
  if (pool_->state().repairs > 0) opening.state = entered_ ? State::survivor : State::replacement;
  opening.repairs = &repairs_;
  opening.throws = tells_ == Tells::by_exception;
  opening.failed_by_code = [this] { note_failed_call(); };
  return opening;
}

void Resilient::remember(Session& session) {
  vote_.under_way |= session.is_under_way();
  vote_.restored = std::max(vote_.restored, session.last_restore().version);
}

bool Resilient::complete(std::unique_ptr<Session> session) {
  remember(*session);
  if (!repairs_.all_finished()) {
    leave(std::move(session));
    return over_;
  }
  vote_.done = true;
  finalize(*session);
  // The session is no longer needed: the spares can be called to the last meeting.
  repairs_.vote_over(true);
  keep_world(*session);
  session_ = nullptr;
  session.reset();
  alarm();
  repairs_.meet();
  return over_;
}

// All work is done. After a failure now, the last snapshot may not reach L4, but the job has succeeded.
void Resilient::finalize(Session& session) {
  try {
    session.finalize();
  } catch (const Exception& error) {
    if (!is_failure(error)) {
      error_ = std::current_exception();
    } else {
      // Rank 0 may be the one that died, so each rank leaves the mark. A job that was to stop has not finished: it
      // needs its last snapshot at L4, so it starts once more.
      if (!session.should_stop()) pool_->launcher().leave(pool_->config(), {CompletionMark::Kind::finished, {}});
      if (session.rank() == 0)
        Log(pool_->config().log.level).warning("a process died while the job ended: {}", error.what());
    }
  }
}

void Resilient::roll_back(std::unique_ptr<Session> session) {
  remember(*session);
  leave(std::move(session));
}

void Resilient::leave(std::unique_ptr<Session> session) {
  repairs_.leaves();
  session_ = nullptr;
  session.reset();
  repairs_.rolls_back();
}

bool Resilient::rolls_back_instead(std::unique_ptr<Session>& session, const std::string& error) {
  constexpr std::chrono::seconds kPatience{1};
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  Lifeline& lifeline = *pool_->lifeline();
  for (lifeline.watch(); !lifeline.is_cut(); lifeline.watch()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  Log(pool_->config().log.level)
      .warning("rank {}: its application failed while a process died, so it rolls back: {}", session->rank(), error);
  session->mpi_->impl->obstruct("has left its application with an error", rollback::Until::next_snapshot);
  roll_back(std::move(session));
  return true;
}

void Resilient::abandon(std::unique_ptr<Session> session) {
  vote_.done = true;
  alarm();
  session_ = nullptr;
  session.reset();
  repairs_.vote_over(true);
  repairs_.meet();
}

bool Resilient::meet(const rollback::Vote& vote) {
  const tap::Unheard own;  // a session may still be open
  PoolVote mine = vote_;
  mine.rollback = vote;
  mine.sick = memory_->sick();
  const auto verdict = pool_->meet(mine);
  if (!verdict) end_job(verdict.error().text(), cause_of(verdict.error()));
  over_ = verdict->over;
  JobWorld* const job_world = JobWorld::current();
  if (!over_ && job_world != nullptr) job_world->note_repair();
  if (!over_) form_helper_team();
  if (verdict->gives_reason) Log(pool_->config().log.level).info("all ranks roll back: {}", vote.obstacle.text);
  if (!over_) end_if_repairs_do_not_help();
  return verdict->only_lost_roll_back;
}

// All members of a pool decide alike, newcomers too: MPI_Abort does not reach processes that were started at another
// time.
void Resilient::end_if_repairs_do_not_help() const {
  const PoolState& state = pool_->state();
  if (state.gives_up) abort_mpi();
  if (state.repairs_without_effect > kMostRepairsWithoutEffect)
    end_job("MPI reports failures, but repairs find no dead process: the job ends. Last failure: " + last_failure_,
            {Cause::Source::repairs, {}, {}});
  if (state.repairs_without_progress > kMostRepairsWithoutProgress) {
    end_job(fmt::format("{} repairs in a row without a newer snapshot: processes die again and again: the job ends. "
                        "Look in the log for what ends them",
                        state.repairs_without_progress),
            {Cause::Source::repairs, {}, {}});
  }
}

bool Resilient::is_failure(const Exception& error) {
  const bool failure =
      error.kind() == ErrorKind::rollback || error.kind() == ErrorKind::communication || pool_->lifeline()->is_cut();
  if (failure) last_failure_ = error.what();
  return failure;
}

}  // namespace cairn
