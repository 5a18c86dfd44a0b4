#include "mpi/job_world.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <utility>

#include <fmt/format.h>
#include <cairn/cairn.hpp>

#include "mpi/launcher.hpp"
#include "mpi/mpi_library.hpp"
#include "mpi/mpi_request.hpp"
#include "mpi/process.hpp"
#include "mpi/session_opening.hpp"
#include "session/session_impl.hpp"
#include "session/shared_setup.hpp"
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

// Processes that the application starts itself have the environment of this job, too.
bool is_as_started(const Launcher& launcher) {
  if (!launcher.world || !launcher.started || launcher.started->heads == 0) return false;
  const tap::Unheard own;
  MPI_Comm parent = MPI_COMM_NULL;
  int size = 0;
  MPI_Comm_get_parent(&parent);
  MPI_Comm_size(tap::all_processes(), &size);
  const std::uint64_t all = std::uint64_t{launcher.started->ranks} + launcher.started->heads + launcher.world->spares;
  return parent == MPI_COMM_NULL && static_cast<std::uint64_t>(size) == all;
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

}  // namespace

JobWorld* JobWorld::current() { return current_world(); }

JobWorld::JobWorld(std::unique_ptr<MpiComm> control, Peer first, std::optional<Peer> head)
    : control_(std::move(control)), first_(first), head_(head), at_end_([this] { end(); }) {}

void begin_job_world() {
  const auto launcher = Launcher::from_environment();
  // What is wrong with it, Session::open reports.
  if (!launcher || current_world() != nullptr || !is_as_started(*launcher)) return;
  const auto refuse = [&](const Error& error) {
    launcher->end_job(tap::all_processes(), {CompletionMark::Kind::error, error.text(), {}, cause_of(error)});
    std::_Exit(EXIT_FAILURE);
  };
  auto control = MpiComm::duplicate(tap::all_processes());
  if (!control) return refuse(control.error());
  const auto topology = roles_of(**control, *launcher);
  if (!topology) return refuse(topology.error());
  const Peer me = (*control)->rank();
  const bool computes = !topology->is_dedicated_head(me);
  if (const int code = tap::replace_world((*control)->raw(), computes); code != MPI_SUCCESS)
    return refuse(mpi_error(code, "making the application's MPI_COMM_WORLD"));
  const Node& node = topology->nodes[topology->node_of_world[me.value].value];
  const Peer first = topology->world_of_rank[node.ranks.front().value];
  // NOLINTNEXTLINE(cppcoreguidelines-owning-memory)
  current_world() = new JobWorld(std::move(*control), first, first == me ? std::optional(node.head) : std::nullopt);
  if (!computes) current_world()->serve();
}

bool JobWorld::is_whole(MPI_Comm comm) {
  if (comm == MPI_COMM_NULL) return false;
  const tap::Unheard own;
  int how = MPI_UNEQUAL;
  MPI_Comm_compare(tap::application_world(), comm, &how);
  return how == MPI_IDENT || how == MPI_CONGRUENT;
}

Status JobWorld::call(Order order) const {
  if (!head_) return {};
  const auto byte = static_cast<std::byte>(order);
  return control_->send(*head_, kOrders, {&byte, 1});
}

Status JobWorld::call_heads() const {
  const auto serving = serving_.lock();
  if (serving && !(*serving)->is_finalized()) {
    return fail(Code::invalid_argument, "the heads of this job serve another session, which is not finalized",
                "finalize that first; or open this one on a communicator of only some ranks, which needs no heads");
  }
  return call(Order::session);
}

std::shared_ptr<const SessionImpl*> JobWorld::are_serving(const SessionImpl& session) {
  auto serving = std::make_shared<const SessionImpl*>(&session);
  serving_ = serving;
  return serving;
}

// Errors of opening a session, and of serving it, all ranks have too: they decide what follows.
void JobWorld::serve() {
  std::byte order{};
  while (control_->recv(first_, kOrders, {&order, 1}) && order == static_cast<std::byte>(Order::session)) {
    try {
      Session::Opening opening;
      opening.world = tap::all_processes();
      (void)Session::open(opening);
    } catch (const Exception&) {
      continue;
    }
  }
  // The public name, which other tools intercept, too.
  MPI_Finalize();
  std::cout.flush();
  (void)std::fflush(nullptr);
  // The application's static objects are not this process's to destroy.
  std::_Exit(EXIT_SUCCESS);
}

// MPI_Finalize has begun, and whatever else was attached to MPI_COMM_SELF is gone: this was attached first.
void JobWorld::end() {
  (void)call(Order::end);
  tap::restore_world();
  control_->leave_to_mpi();
}

}  // namespace cairn
