#include "opening/job_world.hpp"

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <utility>

#include <fmt/format.h>
#include <cairn/cairn.hpp>

#include "mpi/mpi_library.hpp"
#include "mpi/mpi_request.hpp"
#include "mpi/place_in.hpp"
#include "mpi/process.hpp"
#include "opening/session_opening.hpp"
#include "session/session_impl.hpp"
#include "session/shared_setup.hpp"
#include "session/stop_signal.hpp"
#include "tap/hear.hpp"
#include "tap/world.hpp"
#include "topology/topology.hpp"

namespace cairn {
namespace {

constexpr Tag kOrders{1};

// Never destroyed: MPI may end after static objects do.
JobWorld*& current_world() {
  static constinit JobWorld* world = nullptr;
  return world;
}

// Collective over `control`.
Result<Topology> roles_of(MpiComm& control, const Launcher& launcher) {
  const auto hosts = share_hosts(control, host_name());
  if (!hosts) return fail(hosts.error());
  auto topology = make_topology(*hosts, launcher.world->node_size, HeadMode::rank);
  if (!topology) return topology;
  if (auto status = check_started(*topology, launcher.started); !status) return fail(status.error());
  return topology;
}

// Each head is called by the first application rank of its node.
JobWorld::Role role_in(const Topology& topology, Peer me) {
  const Node& node = topology.nodes[topology.node_of_world[me.value].value];
  JobWorld::Role role{.computes = !topology.is_dedicated_head(me),
                      .caller = topology.world_of_rank[node.ranks.front().value]};
  if (role.caller == me) role.calls.push_back(node.head);
  return role;
}

// A process that replaces a dead rank begins the program, and would be alone in such a call.
void refuse_before_session(const Launcher& launcher, std::uint32_t rank, const tap::BlockedCall& call) {
  const std::string text = fmt::format(
      "rank {} calls {} on MPI_COMM_WORLD before cairn::run or cairn_init. A process that replaces a dead rank would "
      "call it alone. Communicate in the function given to cairn::run, or after cairn_init; or set [recovery] mode = "
      "restart",
      rank, call.call);
  const Cause cause{Cause::Source::error, Code::invalid_argument, call.call};
  launcher.end_job(tap::all_processes(), {CompletionMark::Kind::error, text, {}, cause});
  std::_Exit(EXIT_FAILURE);
}

}  // namespace

JobWorld* JobWorld::current() { return current_world(); }

bool JobWorld::is_as_started(const Launcher& launcher) {
  if (!launcher.world || !launcher.started || launcher.by_a_rank) return false;
  if (launcher.started->heads == 0 && !launcher.world->repairs) return false;
  const tap::Unheard own;
  int size = 0;
  MPI_Comm_size(tap::all_processes(), &size);
  const std::uint64_t all = std::uint64_t{launcher.started->ranks} + launcher.started->heads + launcher.world->spares;
  return static_cast<std::uint64_t>(size) == all;
}

void JobWorld::refuse(const Launcher& launcher, const Error& error) {
  launcher.end_job(tap::all_processes(), {CompletionMark::Kind::error, error.text(), {}, cause_of(error)});
  std::_Exit(EXIT_FAILURE);
}

JobWorld::JobWorld(std::unique_ptr<MpiComm> control, Role role, const Launcher& launcher)
    : control_(std::move(control)), role_(std::move(role)), at_end_([this] { end(); }) {
  if (!role_.repairs || !role_.computes) return;
  const auto rank = static_cast<std::uint32_t>(rank_in(tap::application_world()));
  before_session_ = std::make_unique<tap::WorldGuard>(
      [launcher, rank](const tap::BlockedCall& call) { refuse_before_session(launcher, rank, call); });
}

void JobWorld::begin(std::unique_ptr<MpiComm> control, const Launcher& launcher, Role role) {
  if (const int code = tap::replace_world(control->raw(), role.computes, role.repairs); code != MPI_SUCCESS)
    refuse(launcher, mpi_error(code, "making the application's MPI_COMM_WORLD"));
  // NOLINTNEXTLINE(cppcoreguidelines-owning-memory)
  current_world() = new JobWorld(std::move(control), std::move(role), launcher);
}

void begin_job_world(const Launcher& launcher) {
  // What is wrong with it, Session::open reports.
  if (JobWorld::current() != nullptr || !JobWorld::is_as_started(launcher)) return;
  auto control = MpiComm::duplicate(tap::all_processes());
  if (!control) JobWorld::refuse(launcher, control.error());
  const auto topology = roles_of(**control, launcher);
  if (!topology) JobWorld::refuse(launcher, topology.error());
  const auto role = role_in(*topology, (*control)->rank());
  JobWorld::begin(std::move(*control), launcher, role);
  if (role.computes) return;
  const SignalsOfOthers ignored;
  const JobWorld& world = *JobWorld::current();
  // Errors of opening a session, and of serving it, all ranks have too: they decide what follows.
  for (auto order = world.wait_for_order(); order && *order == JobWorld::Order::session;
       order = world.wait_for_order()) {
    try {
      JobWorld::serve_session();
    } catch (const Exception&) {
      continue;
    }
  }
  JobWorld::leave();
}

bool JobWorld::is_whole(MPI_Comm comm) {
  if (comm == MPI_COMM_NULL) return false;
  const tap::Unheard own;
  int how = MPI_UNEQUAL;
  MPI_Comm_compare(tap::application_world(), comm, &how);
  return how == MPI_IDENT || how == MPI_CONGRUENT;
}

// A spare that has died does not keep the others from it.
Status JobWorld::call(Order order) const {
  const auto byte = static_cast<std::byte>(order);
  Status result;
  for (const Peer peer : role_.calls) {
    if (auto status = control_->send(peer, kOrders, {&byte, 1}); !status && result) result = std::move(status);
  }
  return result;
}

std::optional<std::string> JobWorld::served_job() const {
  const auto serving = serving_.lock();
  if (!serving || (*serving)->is_finalized()) return std::nullopt;
  return (*serving)->job().name;
}

Status JobWorld::call_heads() const { return call(Order::session); }

Status JobWorld::call_all_to_repairable_job() const { return call(Order::repairable); }

std::shared_ptr<const SessionImpl*> JobWorld::are_serving(const SessionImpl& session) {
  auto serving = std::make_shared<const SessionImpl*>(&session);
  serving_ = serving;
  return serving;
}

Result<JobWorld::Order> JobWorld::wait_for_order() const {
  std::byte order{};
  if (auto status = control_->recv(role_.caller, kOrders, {&order, 1}); !status) return fail(status.error());
  return static_cast<Order>(order);
}

void JobWorld::serve_session() {
  Session::Opening opening;
  opening.world = tap::all_processes();
  (void)Session::open(opening);
}

void JobWorld::leave() {
  // The public name, which other tools intercept, too.
  MPI_Finalize();
  std::cout.flush();
  (void)std::fflush(nullptr);
  // The application's static objects are not this process's to destroy.
  std::_Exit(EXIT_SUCCESS);
}

// MPI_Finalize has begun, and whatever else was attached to MPI_COMM_SELF is gone: this was attached first.
void JobWorld::end() {
  before_session_.reset();
  if (!was_repaired_) {
    (void)call(Order::end);
    tap::restore_world();
  }
  control_->leave_to_mpi();
}

}  // namespace cairn
