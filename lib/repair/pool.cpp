#include "repair/pool.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "mpi/mpi_comm.hpp"
#include "mpi/process.hpp"
#include "mpi/ulfm.hpp"
#include "opening/local_rollback.hpp"
#include "repair/respawn.hpp"
#include "repair/watchdog.hpp"
#include "rollback/absent.hpp"
#include "session/shared_setup.hpp"
#include "tap/intercepted.hpp"
#include "tap/world.hpp"

namespace cairn {
namespace {

using Role = Member::Role;

// Whether MPI, as it runs here, can do what the configuration asks for.
Status usable(const Config& config) {
  if (auto status = ulfm::usable(); !status) return status;
  if (config.recovery.rollback != Config::Recovery::Rollback::lost) return {};
  if (local_rollback() == nullptr) return fail(rollback::absent());
  if (tap::is_intercepted()) return {};
  return fail(Code::config, "[recovery] rollback = lost: this program's MPI calls are not intercepted",
              "link cairn-tap before MPI, as pkg-config --libs cairn does, or set rollback = all");
}

// Which process is on which node, as if every one computed.
Result<Topology> everyone(Comm& world, const Config& config) {
  auto hosts = share_hosts(world, host_name());
  if (!hosts) return fail(hosts.error());
  return make_topology(*hosts, config.topology.node_size, HeadMode::inline_);
}

// The variable in the environment of processes that this pool starts. `first`: its first process.
std::string mark_of(const ProcessId& first, const std::string& host) {
  return fmt::format("{}={}-{}-{}{}", respawn::kPoolVariable, host, first.number, first.started,
                     tap::is_world_replaced() ? respawn::kReplacesWorld : "");
}

}  // namespace

Result<std::unique_ptr<Pool>> Pool::start(MPI_Comm world, const ConfigSource& source) {
  auto parsed = parse_config(source);
  if (!parsed) return fail(parsed.error());
  const Config& config = *parsed;
  std::unique_ptr<Pool> pool(new Pool(source, config));
  auto comm = MpiComm::duplicate(world);
  if (!comm) return fail(comm.error());
  if (auto status = agree(**comm, usable(config), "world rank"); !status) return fail(status.error());
  auto launcher = Launcher::share(**comm, {});
  if (!launcher) return fail(launcher.error());
  pool->launcher_ = *std::move(launcher);
  pool->settle_head_mode(**comm);
  if (config.recovery.mode == Config::Recovery::Mode::spares && config.recovery.spares == 0) {
    return fail(Code::config, "[recovery] mode = spares, but the job has no spares",
                "start the job with ckpt-run --spares, or set [recovery] spares and start as many ranks more");
  }
  if (auto enough = check_helpers(config); !enough) return fail(enough.error());
  auto topology = everyone(**comm, config);
  if (!topology) return fail(topology.error());
  PoolState state;
  for (const Node& node : topology->nodes)
    state.nodes.push_back({topology->host_of_world[node.head.value], node.name, false});
  auto roster = first_roster(*topology, pool->config_.head.mode.value(), config.recovery.spares);
  if (!roster) return fail(roster.error());
  state.roster = std::move(*roster);
  auto own = own_duplicate(world);
  if (!own) return fail(own.error());
  auto life = first_life(MpiUlfmComm::take(*own), std::move(state), this_process());
  if (!life) return fail(life.error());
  life->state.mark = mark_of(life->processes.front(), life->state.nodes.front().host);
  pool->become_member(std::move(*life));
  return pool;
}

// Every process computes it from the same facts.
void Pool::settle_head_mode(const Comm& world) {
  if (config_.head.mode) return;
  config_.head.mode = automatic_head_mode(launcher_.started.has_value(), false, config_.recovery.mode);
  const std::uint32_t workers = world.size() - std::min(world.size(), config_.recovery.spares);
  if (world.rank().value == 0) log_.info("{}", automatic_head_text(*config_.head.mode, workers, launcher_.by_a_rank));
}

void Pool::become_member(PoolLife life) {
  member_ = std::make_unique<PoolMember>(host_, config_, this_process(), std::move(life));
  begin_life();
}

void Pool::begin_life() {
  lifeline_ = std::make_shared<Lifeline>(MpiUlfmComm::raw(member_->life().pool), world());
  std::vector<ProcessId> others;
  std::vector<ProcessId> workers;
  for (const auto& neighbour : member_->neighbours()) {
    others.push_back(neighbour.process);
    if (state().roster[neighbour.number].role != Role::spare) workers.push_back(neighbour.process);
  }
  lifeline_->expect(std::move(workers));
  guard_.reset();
  if (config_.recovery.hang_timeout)
    guard_ = std::make_unique<HangGuard>(std::move(others), *config_.recovery.hang_timeout, log_);
  log_.debug("process {} is {} after {} repairs", this_process().number, name_of(state(), me()), state().repairs);
}

bool Pool::is_of_one_start() const {
  return std::ranges::all_of(state().roster, [&](const Member& member) { return member.start == me().start; });
}

std::string Pool::my_name() const {
  return fmt::format("process {} ({})", this_process().number, name_of(state(), me()));
}

void Pool::wait_as_spare(const std::function<void()>& meanwhile) {
  member_->wait_as_spare([this] { return lifeline_->misses_one(); }, meanwhile);
  lifeline_->cut();
}

// Waits inside MPI have no limit, so each step of a repair gets one.
Result<PoolVerdict> Pool::meet(const PoolVote& vote) {
  std::optional<Watchdog> watchdog;
  const auto begin_step = [&](const std::string& name) {
    if (watchdog) return watchdog->step(name);
    watchdog.emplace(MpiUlfmComm::raw(member_->life().pool), config_.recovery.limit, name, [this] { end_newcomers(); });
  };
  const auto verdict =
      member_->meet(vote, {.begin_step = begin_step, .news = [this](const auto& state) { return news(state); }});
  if (!verdict) return fail(verdict.error());
  if (!verdict->over) begin_life();
  end_strays();
  return verdict;
}

}  // namespace cairn
