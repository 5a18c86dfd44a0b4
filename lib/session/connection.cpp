#include "session/connection.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "format/sealer.hpp"
#include "rollback/repairs.hpp"
#include "session/greeting.hpp"
#include "session/one_store.hpp"
#include "session/shared_setup.hpp"
#include "session/stop_signal.hpp"

namespace cairn {
namespace {

// The stores of this process. If it does not act for its node, it has only the node's own store.
struct Stores {
  std::shared_ptr<Store> local;
  std::shared_ptr<Store> global = {};
  Sealer sealer = {};
};

Result<Stores> open_stores(const Environment& environment, const Config& config, const Membership& membership,
                           const Result<std::shared_ptr<Store>>& local) {
  if (!local) return fail(local.error());
  Stores stores{.local = *local};
  if (!membership.acts_for_node()) return stores;
  auto global = environment.open_global(config);
  if (!global) return fail(global.error());
  stores.global = std::move(*global);
  // Each head reads the key by itself: it is never sent, and other processes never have it.
  auto sealer = make_sealer(config.integrity.key_file, config.job.name);
  if (!sealer) return fail(sealer.error().in("[integrity] key_file"));
  stores.sealer = std::move(*sealer);
  return stores;
}

// Nodes with different keys would refuse each other's files one by one, and late.
Status compare_keys(Comm& world, const Config& config, const Membership& membership, const Sealer& sealer) {
  if (config.integrity.key_file.empty()) return {};
  Status same;
  if (membership.acts_for_node()) {
    ByteWriter mine;
    mine.put(sealer.key_mark());
    const auto first = membership.heads->broadcast(mine.bytes(), Peer{0});
    if (!first) return fail(first.error());
    if (*first != mine.bytes()) {
      same = fail(Code::config,
                  fmt::format("[integrity] key_file = {}: node {} has another key than node 0",
                              config.integrity.key_file, membership.node.value),
                  "give all nodes the same file");
    }
  }
  return agree(world, same, "world rank");
}

// Says whether the session was opened, or could not be after all.
void leave_mark(const Environment& environment, const Config& config, CompletionMark::Kind kind) {
  if (environment.leave_mark && environment.world.rank().value == 0) environment.leave_mark(config, {kind, {}});
}

// The stores of all ranks, or the same error for all. A rank that could not join the world comes here too, since the
// others wait for it. `local`: the node's store.
Result<Stores> stores_of_world(const Environment& environment, const Config& config,
                               const Result<std::unique_ptr<const Membership>>& joined,
                               const Result<std::shared_ptr<Store>>& local) {
  auto stores =
      joined.and_then([&](const auto& membership) { return open_stores(environment, config, *membership, local); });
  // The mark is left before the ranks agree that the stores are there. No rank has opened the session by then, so this
  // replaces marks of earlier sessions and never one of this session.
  leave_mark(environment, config, stores ? CompletionMark::Kind::opened : CompletionMark::Kind::none);
  const Topology none;
  const Topology& topology = joined ? (**joined).topology : none;
  const auto mine = stores.map([](const Stores& all) { return all.local; });
  const Status one_store = check_one_store(environment.world, topology, mine, config.storage.local);
  if (joined && local) remove_token(topology, environment.world.rank(), **local);
  if (!one_store) return fail(one_store.error());
  if (auto status = compare_keys(environment.world, config, **joined, stores->sealer); !status)
    return fail(status.error());
  return stores;
}

// The name of this process in a trace; a rank may also act for its node.
Trace open_trace(const Environment& environment, const Config& config, const Topology& topology, const Log& log) {
  const Peer me = environment.world.rank();
  const NodeId node = topology.node_of_world[me.value];
  const bool computes = !topology.is_dedicated_head(me);
  TraceProcess process = TraceProcess::of_head(node, environment.host);
  if (computes) {
    const std::string head = process.name;
    const auto rank = std::ranges::find(topology.world_of_rank, me) - topology.world_of_rank.begin();
    process = TraceProcess::of_rank(Rank{static_cast<std::uint32_t>(rank)}, environment.host);
    if (topology.nodes[node.value].head == me) process.name += ", " + head;
  }
  Trace trace(config.log.trace, std::move(process), log, environment.begun);
  trace.name_thread(computes ? "application" : "head");
  trace.span_since("share settings", environment.begun).end();
  return trace;
}

// None where another process acts for this one's node.
std::optional<EngineSetup> engine_setup(const Environment& environment, const Config& config,
                                        const Membership& membership, const Stores& stores, const Log& log,
                                        const Trace& trace) {
  if (!membership.acts_for_node()) return {};
  const bool remembers = config.restart.use_failure_topology;
  EngineOptions options = engine_options(config, membership.topology, membership.node);
  options.keeps_calls = environment.repairs != nullptr && environment.repairs->only_lost_roll_back();
  options.is_in_world = !environment.world_mode.replaced;
  options.after_end = environment.has_ended && environment.has_ended(config);
  return EngineSetup{.control = membership.control,
                     .heads = *membership.heads,
                     .topology = membership.topology,
                     .options = std::move(options),
                     .local = stores.local,
                     .global = stores.global,
                     .sealer = stores.sealer,
                     .failures = remembers ? environment.failures : FailureTopology{},
                     .log = log,
                     .trace = trace,
                     .memory = remembers ? environment.memory : nullptr,
                     .clock = environment.clock,
                     .levels = environment.levels(),
                     .process = environment.process,
                     .look_at_host = environment.look_at_host};
}

// Whether ranks must know something at the same call: that a level is due by time or by the model, the stop signal, or
// a log that fills. Heads may ask for a snapshot, too.
bool agrees_on_time(const Config& config, const Topology& topology, LevelSet usable) {
  const bool heads_may_ask = config.localize.on && config.localize.act >= localize::Act::snapshot &&
                             std::ranges::any_of(topology.nodes, &Node::dedicated_head);
  return heads_may_ask || config.restart.stop_signal.has_value() ||
         config.recovery.rollback == Config::Recovery::Rollback::lost ||
         std::ranges::any_of(kAllLevels, [&](LevelId level) {
           const Interval::Kind kind = config.levels.of(level).kind;
           return usable.has(level) && (kind == Interval::Kind::time || kind == Interval::Kind::automatic);
         });
}

}  // namespace

Result<std::unique_ptr<Connection>> connect(const Environment& environment, const Config& config, const Log& log) {
  auto topology = share_topology(environment, config);
  if (!topology) return fail(topology.error());
  // In heads too: launchers send the signal to every rank, and it kills a process that does not handle it.
  if (config.restart.stop_signal) StopSignal::watch(*config.restart.stop_signal);
  const Trace trace = open_trace(environment, config, *topology, log);
  auto joining = trace.span("join world");
  const Peer place = environment.world.rank();
  const auto local = environment.open_local(config, *topology, topology->node_of_world[place.value]);
  if (local) leave_token(*topology, place, **local);
  auto membership = join_world(environment.world, std::move(*topology));
  joining.end();
  const auto not_opened = [&](const Error& error) {
    leave_mark(environment, config, CompletionMark::Kind::none);
    return fail(error);
  };
  auto opening = trace.span("open stores");
  auto stores = stores_of_world(environment, config, membership, local);
  opening.end();
  if (!stores) return not_opened(stores.error());
  const Membership& me = **membership;
  auto setup = engine_setup(environment, config, me, *stores, log, trace);
  if (!me.computes()) {
    const SignalsOfOthers ignored;
    auto engine = Engine::open(*setup);
    if (!engine) return not_opened(engine.error());
    if (auto status = (*engine)->serve(); !status) return fail(status.error());
    return nullptr;
  }
  auto greeting = greet_head(me, *stores->local, std::move(setup), log, trace, environment);
  if (!greeting) return not_opened(greeting.error());
  auto connection =
      std::make_unique<Connection>(std::move(*membership), trace, std::move(stores->local), std::move(*greeting));
  if (agrees_on_time(config, connection->membership->topology, connection->life.usable))
    connection->pulse.emplace(*me.ranks, environment.clock);
  return connection;
}

Connection::Connection(std::unique_ptr<const Membership> place, Trace traced, std::shared_ptr<Store> store,
                       Greeting greeting)
    : membership(std::move(place)),
      trace(std::move(traced)),
      local(std::move(store)),
      engine(std::move(greeting.engine)),
      link(std::move(greeting.link)),
      life(std::move(greeting.life)),
      warmer(local, membership->rank()) {}

Connection::~Connection() {
  link->wake_head();
  if (engine.thread.joinable()) engine.thread.join();
}

void Connection::leave(const FinalizeRequest& last) {
  if (engine.in_calls) {
    engine.in_calls->leave(last);
    return;
  }
  (void)link->send(last);
  if (engine.thread.joinable()) engine.thread.join();
}

}  // namespace cairn
