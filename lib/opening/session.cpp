// The public Session: SessionImpl over MPI communicators and POSIX stores.
#include <chrono>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <cairn/cairn.hpp>

#include "mpi/failure_handler.hpp"
#include "mpi/launcher.hpp"
#include "mpi/mpi_comm.hpp"
#include "mpi/mpi_request.hpp"
#include "mpi/place_in.hpp"
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
#include "tap/call_ring.hpp"
#include "tap/error_handlers.hpp"
#include "tap/family.hpp"
#include "tap/hear.hpp"
#include "tap/intercepted.hpp"
#include "tap/world.hpp"
#include "tap/world_guard.hpp"

namespace cairn {
namespace {

bool threads_may_communicate() {
  int provided = MPI_THREAD_SINGLE;
  MPI_Query_thread(&provided);
  return provided == MPI_THREAD_MULTIPLE;
}

Result<std::shared_ptr<Store>> open_local(const Config& config, const Topology& topology, NodeId node) {
  if (auto status = check_places(config.storage.local, config.storage.global); !status) return fail(status.error());
  return PosixStore::open(place_of_node(config, topology.nodes[node.value].name), config.job.name);
}

// A session of only some of the ranks need not have the numbers that ckpt-run was asked for, nor a rank for a head.
bool has_all_ranks(MPI_Comm world) { return size_of(world) == size_of(tap::all_processes()); }

// An error that would come again in the job's next life. `about`: the call that is wrong.
void end_for_mistake(const Launcher& launcher, const std::string& text, const char* about) {
  const Cause cause{Cause::Source::error, Code::invalid_argument, about};
  launcher.end_job(tap::all_processes(), {CompletionMark::Kind::error, text, {}, cause});
}

void refuse(const Launcher& launcher, std::uint32_t rank, const tap::BlockedCall& call) {
  const std::string where =
      call.on_world ? "MPI_COMM_WORLD" : "a communicator that was made of MPI_COMM_WORLD before the session opened";
  const std::string why = call.head ? fmt::format("Rank {} there is a head, which exchanges no messages", *call.head)
                                    : "Heads and spares take no part in it";
  const std::string text = fmt::format(
      "rank {} calls {} on {}. {}, so the call would block forever. Use session.comm(), or cairn_comm in C and "
      "Fortran. With [head] mode = thread or inline, all ranks are application ranks",
      rank, call.call, where, why);
  end_for_mistake(launcher, text, call.call);
}

// By rank in MPI_COMM_WORLD: those of `world` that are not among `ranks`.
std::vector<bool> heads_of(MPI_Comm world, MPI_Comm ranks) {
  std::vector<bool> heads(static_cast<std::size_t>(size_of(tap::all_processes())));
  std::vector<int> numbers(heads.size());
  std::iota(numbers.begin(), numbers.end(), 0);
  const auto places_in = [&](MPI_Comm comm) {
    std::vector<int> places(heads.size(), MPI_UNDEFINED);
    MPI_Group all = MPI_GROUP_NULL;
    MPI_Group group = MPI_GROUP_NULL;
    MPI_Comm_group(tap::all_processes(), &all);
    MPI_Comm_group(comm, &group);
    MPI_Group_translate_ranks(all, static_cast<int>(numbers.size()), numbers.data(), group, places.data());
    MPI_Group_free(&group);
    MPI_Group_free(&all);
    return places;
  };
  const std::vector<int> in_world = places_in(world);
  const std::vector<int> in_ranks = places_in(ranks);
  for (std::size_t i = 0; i < heads.size(); ++i)
    heads[i] = in_world[i] != MPI_UNDEFINED && in_ranks[i] == MPI_UNDEFINED;
  return heads;
}

tap::Server server_of(const SessionImpl& session) {
  const auto head = session.head();
  return {.node = head.node, .head_process = head.process, .head_rank = head.rank};
}

// Without it the job goes on: nobody needs it but who looks for the reason of a hang.
std::unique_ptr<tap::CallRing> open_ring(SessionImpl& session) {
  auto ring = tap::CallRing::open(session.local_store(),
                                  {.rank = Rank{session.ranks().rank().value},
                                   .ranks = session.ranks().size(),
                                   .process = this_process().number,
                                   .host = host_name(),
                                   .threads = threads_may_communicate(),
                                   .server = server_of(session)},
                                  tap::call_names());
  if (ring) return std::move(*ring);
  session.log().warning("ckpt-tool hang cannot show this rank: {}", ring.error().text());
  return nullptr;
}

class RingWatcher final : public CallWatcher {
 public:
  explicit RingWatcher(tap::CallRing& ring) : ring_(ring) {}
  void call_begins(CairnCall call, bool another) override { ring_.cairn_began(call, another); }
  void call_ends() override { ring_.cairn_ended(); }

 private:
  tap::CallRing& ring_;
};

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

// All ranks have such an error. None of them may end the job for it before the mark is written. Where survivors are in
// their calls yet, the job does not end: all roll back, and open their sessions together.
void Session::Mpi::leave_mark_of(const Error& error, const Launcher& launcher) {
  if (world->rank().value == 0) launcher.leave(error);
  if (restart_would_fail(error.code)) (void)world->barrier();
}

// The application's errors on `comm` are handled as its world's are; in a job that repairs itself, its failures are
// Cairn's.
void Session::Mpi::join(MPI_Comm comm, const Opening& opening) {
  failures = opening.failures;
  if (!opening.lifeline) return tap::copy_handler(opening.world, comm);
  lifeline = opening.lifeline;
  lifeline->add(comm);
  if (calls) calls->joins(lifeline);
  handler = std::make_unique<FailureHandler>(comm, opening.errhandler, lifeline, opening.throws);
  handler->once_told_by_code(opening.failed_by_code);
}

void Session::Mpi::hear_calls(const Opening& opening) {
  if (impl->rank().value == 0 && !tap::is_intercepted())
    impl->log().warning(
        "MPI calls are not intercepted: link cairn-tap before MPI, as pkg-config --libs cairn does, or start the job "
        "with LD_PRELOAD=libcairn-tap.so. [job] tap = off only ends this warning");
  ring = open_ring(*impl);
  if (ring) ring_listens.emplace(*ring);
  family = std::make_unique<tap::Family>(ranks, [this](MPI_Comm made) {
    if (lifeline) lifeline->adopt(made);
  });
  if (lifeline) {
    calls = std::make_unique<RepairCalls>(
        RepairCalls::Setting{.stays = [repairs = opening.repairs] { return repairs->stays(); },
                             .drains_others =
                                 [this] {
                                   if (carrier) carrier->drain();
                                 },
                             .limit = opening.repaired->config.recovery.limit,
                             .has_threads = threads_may_communicate(),
                             .log = impl->log()},
        lifeline);
    guarding.emplace(*calls);
  }
  if (ring) ring->is_session(tap::member_of(ranks)->id);
  if (ring) watcher = std::make_unique<RingWatcher>(*ring);
  impl->watch_calls(watcher.get());
}

void Session::Mpi::note_calls(const std::string& directory) {
  rehearsal = std::make_unique<RehearsalWatch>(
      directory, Rank{impl->ranks().rank().value}, [impl = impl] { return impl->regions().names(); }, watcher.get());
  if (impl->job().tap) rehearsal_listens.emplace(*rehearsal);
  impl->watch_calls(rehearsal.get());
}

void Session::Mpi::guard_world(const Opening& opening, const Launcher& launcher) {
  guard.reset();
  const bool all_compute = impl->size() == world->size();
  if (tap::is_world_replaced()) return;  // no communicator of the application has heads
  if (!impl->job().tap || (all_compute && (!opening.lifeline || has_all_ranks(ranks)))) return;
  guard = std::make_unique<tap::WorldGuard>(heads_of(world->raw(), twin()),
                                            [impl = impl, launcher](const tap::BlockedCall& call) {
                                              if (!impl->is_finalized()) refuse(launcher, impl->rank().value, call);
                                            });
}

MPI_Comm Session::Mpi::twin() const { return carrier ? carrier->stand_in(ranks) : ranks; }
MPI_Comm Session::Mpi::own() const { return static_cast<MpiComm&>(impl->ranks()).raw(); }

void Session::Mpi::carry_messages(const Opening& opening) {
  carrier = local_rollback()->messages({.comm = ranks,
                                        .own = own(),
                                        .rank = *impl->logged(),
                                        .stays =
                                            [repairs = opening.repairs] {
                                              const bool goes_on = repairs->stays();
                                              if (!goes_on) FailureHandler::tell_of_failure();
                                              return goes_on;
                                            },
                                        .adopts = [this](MPI_Comm comm) { lifeline->adopt(comm); },
                                        .limit = opening.repaired->config.recovery.limit,
                                        .has_threads = threads_may_communicate(),
                                        .present_call =
                                            [this] {
                                              const auto call = ring ? ring->present_call() : std::string_view();
                                              return std::string(call.empty() ? "MPI" : call);
                                            },
                                        .log = impl->log()},
                                       lifeline);
  carrying.emplace(*carrier);
}

// All communicators are revoked by now.
bool Session::Mpi::leave_world() {
  const bool is_still = carrier->harvest();
  impl->disconnect();
  guard.reset();
  handler.reset();
  if (world) world->leave_to_mpi();
  world.reset();
  return is_still;
}

Result<MPI_Comm> Session::Mpi::enter_world(const Opening& opening) {
  auto repaired = MpiComm::duplicate(opening.world, MpiComm::kLargestTransfer, opening.lifeline);
  if (!repaired) return fail(repaired.error());
  world = std::move(*repaired);
  if (auto status = impl->reconnect(environment_of(*world, opening, *opening.launcher)); !status)
    return fail(status.error());
  if (ring) ring->is_served_by(server_of(*impl));
  const auto twin = own_duplicate(own());
  if (!twin) return fail(twin.error());
  join(*twin, opening);
  tap::copy_handler(ranks, *twin);
  return *twin;
}

void Session::Mpi::go_on(MPI_Comm twin, const Opening& opening) {
  carrier->goes_on(twin, own(), lifeline);
  guard_world(opening, *opening.launcher);
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
