// What a Session has of MPI, while it is open and through repairs.
#include "opening/session_parts.hpp"

#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "mpi/failure_handler.hpp"
#include "mpi/mpi_request.hpp"
#include "mpi/place_in.hpp"
#include "mpi/process.hpp"
#include "opening/local_rollback.hpp"
#include "tap/error_handlers.hpp"
#include "tap/hear.hpp"
#include "tap/intercepted.hpp"
#include "tap/world.hpp"

namespace cairn {
namespace {

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

}  // namespace

bool threads_may_communicate() {
  int provided = MPI_THREAD_SINGLE;
  MPI_Query_thread(&provided);
  return provided == MPI_THREAD_MULTIPLE;
}

bool has_all_ranks(MPI_Comm world) { return size_of(world) == size_of(tap::all_processes()); }

void end_for_mistake(const Launcher& launcher, const std::string& text, const char* about) {
  const Cause cause{Cause::Source::error, Code::invalid_argument, about};
  launcher.end_job(tap::all_processes(), {CompletionMark::Kind::error, text, {}, cause});
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

}  // namespace cairn
