#include "repair/job_begin.hpp"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <optional>
#include <utility>

#include <cairn/cairn.hpp>

#include "mpi/launcher.hpp"
#include "mpi/mpi_comm.hpp"
#include "mpi/mpi_library.hpp"
#include "mpi/mpi_request.hpp"
#include "mpi/process.hpp"
#include "opening/job_world.hpp"
#include "repair/resilient.hpp"
#include "repair/respawn.hpp"
#include "repair/roles.hpp"
#include "session/shared_setup.hpp"
#include "session/stop_signal.hpp"
#include "tap/world.hpp"

namespace cairn {
namespace {

// By rank in MPI_COMM_WORLD, as Pool::start() will find them. Collective over `control`.
Result<Roster> first_roster_of(MpiComm& control, const Launcher& launcher) {
  const auto hosts = share_hosts(control, host_name());
  if (!hosts) return fail(hosts.error());
  const auto everyone = make_topology(*hosts, launcher.world->node_size, HeadMode::inline_);
  if (!everyone) return fail(everyone.error());
  return first_roster(*everyone, launcher.started->heads > 0 ? HeadMode::rank : HeadMode::inline_,
                      launcher.world->spares);
}

// Heads and spares are called by the first application rank of their node; else by the first of all.
Peer caller_of(const Roster& roster, const Member& called) {
  const auto is_of = [&](const Member& member) { return member.role == Member::Role::rank; };
  auto found =
      std::ranges::find_if(roster, [&](const Member& member) { return is_of(member) && member.node == called.node; });
  if (found == roster.end()) found = std::ranges::find_if(roster, is_of);
  return Peer{static_cast<std::uint32_t>(found - roster.begin())};
}

JobWorld::Role role_in(const Roster& roster, Peer me) {
  JobWorld::Role role{.computes = roster[me.value].role == Member::Role::rank, .repairs = true, .caller = me};
  if (!role.computes) role.caller = caller_of(roster, roster[me.value]);
  for (std::uint32_t i = 0; role.computes && i < roster.size(); ++i) {
    if (roster[i].role != Member::Role::rank && caller_of(roster, roster[i]) == me) role.calls.push_back(Peer{i});
  }
  return role;
}

// False: this process takes over from a dead one, and returns from MPI_Init. Errors, all processes have too: the
// application ranks decide what follows.
bool serves(JobWorld::Order order) {
  try {
    if (order == JobWorld::Order::session) JobWorld::serve_session();
    return order != JobWorld::Order::repairable || !Resilient::wait_to_take_over(tap::all_processes());
  } catch (const Exception&) {
    return true;
  }
}

void begin_repairable(const Launcher& launcher) {
  if (JobWorld::current() != nullptr || !JobWorld::is_as_started(launcher)) return;
  auto control = MpiComm::duplicate(tap::all_processes());
  if (!control) JobWorld::refuse(launcher, control.error());
  const auto roster = first_roster_of(**control, launcher);
  if (!roster) JobWorld::refuse(launcher, roster.error());
  const auto role = role_in(*roster, (*control)->rank());
  JobWorld::begin(std::move(*control), launcher, role);
  const JobWorld& world = *JobWorld::current();
  std::optional<SignalsOfOthers> ignored;
  if (!role.computes) ignored.emplace();
  while (!role.computes) {
    const auto order = world.wait_for_order();
    if (!order) {
      launcher.end_job(tap::all_processes(), {CompletionMark::Kind::failed,
                                              "a process died before cairn::run or cairn_init was called: the job ends",
                                              {},
                                              cause_of(order.error())});
      std::_Exit(EXIT_FAILURE);
    }
    if (*order == JobWorld::Order::end) JobWorld::leave();
    if (!serves(*order)) return;
    if (world.was_repaired()) JobWorld::leave();
  }
}

// Ranks without a session, heads and spares must handle the signal, too: launchers send it to every process.
void watch_stop_signal() {
  const char* const text = std::getenv(kStopSignalVariable);
  const auto signal = parse_stop_signal(text == nullptr ? "" : text);
  if (signal && *signal) StopSignal::watch(**signal);
}

// A new process that a repair has started.
void begin_newcomer() {
  const auto all = own_duplicate(tap::all_processes());
  if (!all) std::raise(SIGKILL);  // reported to the others, as any death
  tap::replace_world_of_newcomer(*all);
  const SignalsOfOthers ignored;
  try {
    if (Resilient::wait_to_take_over(*all)) return;
  } catch (const Exception&) {
  }
  JobWorld::leave();
}

}  // namespace

void begin_job() {
  if (!check_mpi_library()) return;  // Session::open reports it
  watch_stop_signal();
  if (respawn::is_newcomer()) {
    if (respawn::is_newcomer_in_world()) begin_newcomer();
    return;
  }
  Launcher::take_environment();
  const auto launcher = Launcher::from_environment();
  // What is wrong with it, Session::open reports.
  if (!launcher || !launcher->world) return;
  launcher->world->repairs ? begin_repairable(*launcher) : begin_job_world(*launcher);
}

}  // namespace cairn
