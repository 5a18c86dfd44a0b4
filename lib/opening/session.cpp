// The public Session: SessionImpl over MPI communicators and POSIX stores.
#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <cairn/cairn.hpp>

#include "mpi/launcher.hpp"
#include "mpi/mpi_comm.hpp"
#include "mpi/process.hpp"
#include "opening/job_world.hpp"
#include "opening/local_rollback.hpp"
#include "opening/mpi_end.hpp"
#include "opening/session_opening.hpp"
#include "opening/session_parts.hpp"
#include "session/exception.hpp"
#include "session/session_impl.hpp"
#include "session/storage_places.hpp"
#include "store/posix/posix_store.hpp"
#include "tap/error_handlers.hpp"
#include "tap/hear.hpp"
#include "tap/intercepted.hpp"
#include "tap/world.hpp"
#include "tap/world_guard.hpp"

namespace cairn {
namespace {

Result<std::shared_ptr<Store>> open_local(const Config& config, const Topology& topology, NodeId node) {
  if (auto status = check_places(config.storage.local, config.storage.global); !status) return fail(status.error());
  return PosixStore::open(place_of_node(config, topology.nodes[node.value].name), config.job.name);
}

// Heads would serve on, and the application wait in MPI_Finalize for them, for ever.
void end_unfinished(SessionImpl& session) {
  if (session.is_finalized()) return;
  session.log().error(
      "rank {} called MPI_Finalize before it finalized its session. The session is abandoned, and unfinished "
      "snapshots are lost. Finalize the session first",
      session.ranks().rank().value);
  session.abandon(SessionImpl::Abandoned::mpi_ended);
}

// Spares would wait on, and MPI_Finalize for them. A restart would come to the same call.
void end_job_unfinished(SessionImpl& session, const Launcher& launcher) {
  if (session.is_finalized()) return;
  const std::string text = fmt::format(
      "rank {} called MPI_Finalize before its session was finalized, so the job ends. Call MPI_Finalize after "
      "cairn::run, cairn_run or cairn_finalize",
      session.ranks().rank().value);
  end_for_mistake(launcher, text, "MPI_Finalize");
}

// A replacement that cannot take what the dead rank exchanged before restore() must not run: all ranks roll back.
void take_prologue(SessionImpl& session, LoggedMessages& messages, MPI_Comm twin) {
  auto taken = session.logged()->settle_prologue();
  if (taken) taken = messages.make_again(session.ranks(), twin);
  if (taken) return;
  if (taken.error().code == Code::communication) value_or_throw(taken);
  throw Exception(ErrorKind::rollback, taken.error().text());
}

Result<std::shared_ptr<Store>> open_global(const Config& config) {
  return PosixStore::open(absolute_place(config.storage.global), config.job.name, {.readers = config.storage.access});
}

}  // namespace

Session::Session(std::unique_ptr<SessionImpl> impl, std::unique_ptr<Mpi> mpi)
    : SessionBase(std::move(impl)), mpi_(std::move(mpi)) {}
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;
Session::~Session() {
  if (mpi_) {
    // Others may still have messages for this rank.
    if (!impl().is_finalized() && mpi_->world) mpi_->world->leave_to_mpi();
    mpi_->end.reset();
    mpi_->carrying.reset();
    mpi_->carrier.reset();
    mpi_->guard.reset();
    mpi_->family.reset();
    impl().watch_calls(nullptr);
    mpi_->ring_listens.reset();
    mpi_->rehearsal_listens.reset();
    mpi_->ring.reset();
    mpi_->handler.reset();
  }
  close();
  // The application may use its communicator until MPI_Finalize.
  if (mpi_ && mpi_->lifeline && mpi_->ranks != MPI_COMM_NULL) mpi_->lifeline->remove(mpi_->ranks);
}

std::unique_ptr<Session> Session::open(MPI_Comm world, const std::string& config, const FailureTopology& failures) {
  Opening opening;
  opening.world = world;
  opening.config_file = config;
  opening.failures = failures;
  tap::check_opening("cairn::Session::open", world);
  JobWorld* const job = JobWorld::current();
  if (job == nullptr || !JobWorld::is_whole(world)) return open(opening);
  opening.served_job = job->served_job();
  if (opening.served_job) {
    opening.world = tap::application_world();
    return open(opening);
  }
  value_or_throw(job->call_heads());
  opening.world = tap::all_processes();
  opening.ranks = tap::application_world();
  auto session = open(opening);
  session->mpi_->served = job->are_serving(*session->mpi_->impl);
  return session;
}

namespace {

// Of a session that no rank could open.
void free_duplicate(Result<MPI_Comm>& duplicate) {
  const tap::Unheard own;
  if (duplicate && *duplicate != MPI_COMM_NULL) MPI_Comm_free(&*duplicate);
}

WorldMode world_mode(const Launcher& launcher) {
  WorldMode mode{.started = launcher.world, .replaced = tap::is_world_replaced()};
  if (mode.started && !mode.replaced) mode.intercepted = tap::is_intercepted();
  return mode;
}

}  // namespace

// What a session of this world is opened with. The world must outlive it.
Environment Session::Mpi::environment_of(MpiComm& world, const Opening& opening, const Launcher& launcher) {
  const bool is_whole = !opening.served_job && has_all_ranks(opening.world);
  // The caller may know more about the failure than ckpt-run did when it started the job.
  const bool told = !opening.failures.dead_ranks.empty() || !opening.failures.lost_nodes.empty();
  const auto start = std::chrono::steady_clock::now();
  return {.world = world,
          .host = host_name(),
          .config_file = opening.config_file,
          .open_local = open_local,
          .open_global = open_global,
          .threads_may_communicate = threads_may_communicate(),
          .failures = told ? opening.failures : launcher.failures,
          .clock =
              [start] {
                return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - start);
              },
          .memory = opening.memory,
          .leave_mark = [launcher](const Config& config, const CompletionMark& mark) { launcher.leave(config, mark); },
          .repaired = opening.repaired,
          .repairs = opening.repairs,
          .logs_messages = local_rollback() != nullptr ? local_rollback()->rank : MakeLoggedRank(),
          .started = opening.repaired || is_whole ? launcher.started : std::nullopt,
          .is_part = !opening.repaired && !is_whole,
          .served_job = opening.served_job,
          .by_a_rank = launcher.by_a_rank,
          .goes_on = launcher.goes_on,
          .has_ended = [launcher](const Config& config) { return launcher.has_ended(config); },
          .rehearsal = launcher.rehearsal,
          .process = this_process().number,
          .world_mode = world_mode(launcher)};
}

std::unique_ptr<Session> Session::open(const Opening& opening) {
  const auto begun = std::chrono::steady_clock::now();
  auto mpi = std::make_unique<Mpi>();
  mpi->world = value_or_throw(MpiComm::duplicate(opening.world, MpiComm::kLargestTransfer, opening.lifeline));
  auto launcher = opening.launcher ? *opening.launcher : value_or_throw(Launcher::share(*mpi->world, opening.failures));
  if (opening.served_job) launcher.rehearsal.clear();  // it rehearses the other session
  const bool replaces = opening.repairs != nullptr && opening.repairs->only_lost_roll_back();
  auto environment = Mpi::environment_of(*mpi->world, opening, launcher);
  environment.begun = begun;
  // The application's own duplicate: its messages never meet Cairn's.
  Result<MPI_Comm> duplicate = opening.ranks;
  if (opening.ranks == MPI_COMM_NULL)
    environment.meanwhile = [&](Comm& ranks) { duplicate = own_duplicate(static_cast<MpiComm&>(ranks).raw()); };
  auto opened = SessionImpl::open(environment);
  // Whatever has failed: messages may still be on their way.
  if (!opened) mpi->world->leave_to_mpi();
  // The job goes on with the session that the heads serve.
  if (!opened && !replaces && !opening.served_job) mpi->leave_mark_of(opened.error(), launcher);
  if (!opened && !opening.lifeline && opening.ranks == MPI_COMM_NULL) free_duplicate(duplicate);
  auto impl = value_or_throw(std::move(opened));
  if (!impl) return nullptr;
  mpi->impl = impl.get();
  mpi->state = opening.state;
  mpi->ranks = value_or_throw(duplicate);
  mpi->failures = opening.failures;
  if (opening.ranks == MPI_COMM_NULL || opening.lifeline) mpi->join(mpi->ranks, opening);
  if (impl->job().tap) mpi->hear_calls(opening);
  if (!launcher.rehearsal.empty()) mpi->note_calls(launcher.rehearsal);
  mpi->guard_world(opening, launcher);
  if (impl->logged() != nullptr) {
    mpi->carry_messages(opening);
    if (replaces) take_prologue(*impl, *mpi->carrier, mpi->ranks);
  }
  mpi->end = std::make_unique<MpiEnd>([impl = impl.get(), launcher, repairs = opening.repaired.has_value()] {
    repairs ? end_job_unfinished(*impl, launcher) : end_unfinished(*impl);
  });
  return std::unique_ptr<Session>(new Session(std::move(impl), std::move(mpi)));
}

MPI_Comm Session::comm() const { return mpi_->ranks; }
void Session::watch(MPI_Comm comm) {
  if (!mpi_->lifeline || comm == MPI_COMM_NULL) return;
  tap::take_over(comm);
  mpi_->lifeline->adopt(comm);
}
bool Session::failed() const {
  if (!mpi_->lifeline) return false;
  mpi_->lifeline->watch();
  const bool failed = mpi_->lifeline->is_cut();
  // The application may now leave a loop that other ranks do not leave.
  if (failed) mpi_->impl->obstruct("has learned of a failure from failed()", rollback::Until::next_snapshot);
  return failed;
}
bool Session::is_under_way() { return impl().is_under_way(); }
State Session::state() const { return mpi_->state; }
bool Session::catches_up() const {
  const rollback::LoggedRank* const logged = mpi_->impl->logged();
  return logged != nullptr && logged->computes_again();
}
const FailureTopology& Session::failures() const { return mpi_->failures; }

}  // namespace cairn
