#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "base/drawn_number.hpp"
#include "engine/engine.hpp"
#include "engine/sick_nodes.hpp"
#include "recover/leftovers.hpp"

namespace cairn {

Engine::Engine(const EngineSetup& setup)
    : head_{setup.control, setup.heads, setup.topology, setup.options, setup.clock, {setup.control, setup.topology}},
      inquiry_(setup.topology, NodeId{setup.heads.rank().value}, ways()),
      catalog_(head_.node, setup.memory, setup.options.keep),
      life_(head_, catalog_, setup.sealer),
      promoter_(head_, catalog_, life_),
      seals_(head_, catalog_, life_, promoter_),
      restores_(head_, catalog_, life_, promoter_, seals_, setup.failures),
      store_counts_(std::make_shared<StoreCounts>()),
      memory_(setup.memory) {
  head_.node.me = NodeId{setup.heads.rank().value};
  head_.node.local = setup.local;
  if (FaultDesk::runs_here(head_) && setup.local) head_.node.local = watch_store(setup.local, store_counts_);
  head_.node.global = setup.global;
  head_.node.log = setup.log;
  head_.node.trace = setup.trace;
  head_.node.workers = std::make_shared<Workers>(std::max(setup.options.threads, 1U) - 1);
  head_.ranks = setup.topology.nodes[head_.node.me.value].ranks;
  head_.node.levels = setup.levels;
}

Engine::~Engine() {
  if (faults_ && finished_) faults_->end();
  if (faults_ && !finished_) {
    faults_->note_dead(head_.control.dead_members());
    (void)faults_->spool();
    remember_sick();
  }
  head_.heads.on_wait({});
  if (head_.votes) head_.votes->on_wait({});
}

Result<std::unique_ptr<Engine>> Engine::open(const EngineSetup& setup) {
  std::unique_ptr<Engine> engine(new Engine(setup));
  const auto span = engine->head_.node.trace.span("open head");
  const Status status = engine->begin(setup);
  Head& head = engine->head_;
  Opened opened;
  opened.incarnation = head.node.incarnation;
  opened.run = head.node.run;
  opened.last_version = engine->seals_.last_version();
  opened.usable = head.usable;
  opened.slots = slots_needed(head.options.keep, head.usable & head.node.levels.in_node_stores());
  opened.process = setup.process;
  opened.measured = engine->catalog_.chain.measured;
  if (!status) opened.error = status.error();
  if (status) engine->silence_.begin(*head.bell, head.clock());
  if (status)
    engine->faults_ = FaultDesk::open(head, engine->catalog_,
                                      {setup.look_at_process, setup.count_oom_kills, setup.look_at_host,
                                       engine->store_counts_, setup.local, setup.process});
  head.node.symptoms = engine->faults_.get();
  head.tell_all(opened);
  if (!status) return fail(status.error());
  if (auto made = engine->open_votes(); !made) return fail(made.error());

  head.node.between = [raw = engine.get()] { raw->tick(); };
  head.heads.on_wait([raw = engine.get()] {
    raw->tick();
    return false;
  });
  return engine;
}

// After the ranks have been answered: they do not wait for it.
Status Engine::open_votes() {
  auto votes = head_.heads.split(0, 0);
  if (!votes) {
    break_down(votes.error());
    return fail(votes.error());
  }
  head_.votes = std::move(*votes);
  return {};
}

Status Engine::begin(const EngineSetup& setup) {
  const auto roll = take_stock(setup);
  if (!roll) return fail(roll.error());
  seals_.begin_after(roll->highest_version);
  promoter_.begin_placements_at(roll->turns);
  Status status = life_.start(*roll);
  if (status) status = choose_layout(*roll);
  remember_sick();
  if (status) status = restores_.take_inventory(*roll);
  // Ranks record calls and write files only once they know that the life has opened. A start that is refused removes
  // nothing.
  if (status) {
    const auto kept = head_.options.keeps_calls ? std::span<const Rank>(head_.ranks) : std::span<const Rank>();
    remove_recorded_calls(*head_.node.local, kept, head_.node.log);
    remove_files_of_ranks(*head_.node.local, catalog_.contents, kept, head_.node.log);
  }
  return status;
}

Status Engine::open_bell() {
  if (!head_.node.local)
    return fail(Code::io, fmt::format("node {}: its store, [storage] local, could not be opened", head_.node.me.value));
  auto bell = head_.node.local->bell();
  if (!bell) return fail(bell.error());
  head_.bell = std::move(*bell);
  return {};
}

// A rank rings after its hello.
Status Engine::receive_hellos() {
  constexpr std::chrono::microseconds kNap{500};
  while (true) {
    const std::uint32_t rings = head_.bell ? head_.bell->rings(Bell::Who::head) : 0;
    const auto worked = receive();
    if (!worked) return fail(worked.error());
    if (head_.requests.hellos.size() >= head_.ranks.size()) return {};
    if (*worked) continue;
    if (head_.bell) {
      head_.bell->wait(Bell::Who::head, rings, kNap);
    } else {
      head_.control.idle(false);
    }
  }
}

// Reads what is in this head's own store; head 0 also reads the global one, for all heads.
Status Engine::look_around() {
  const NodeContext& node = head_.node;
  const auto span = node.trace.span("list stores");
  auto lock = node.local->lock();
  if (!lock) return fail(lock.error());
  if (auto status = catalog_.read(life_.sealer()); !status) return status;
  lock_ = std::move(*lock);
  if (!head_.node.leads()) return {};
  auto chain = read_chain(*node.global, node.log, life_.sealer());
  if (!chain) return fail(chain.error());
  catalog_.chain = std::move(*chain);
  catalog_.chain.next = RunId{drawn_number()};
  look_for_sick_nodes();
  return list_other_stores(node, life_.sealer(), catalog_.chain);
}

// Of the chain in the global store, if its files can be read.
void Engine::look_for_sick_nodes() {
  const auto& localize = head_.options.localize;
  const auto& mark = catalog_.chain.mark;
  if (!localize.on || localize.act < localize::Act::avoid || (!mark && life_.sealer().has_key())) return;
  auto found = read_sick_nodes(head_.node, head_.topology, mark ? life_.sealer().of_chain(mark->id) : life_.sealer());
  catalog_.chain.sick.nodes = std::move(found.nodes);
  catalog_.chain.sick.hosts = std::move(found.hosts_elsewhere);
}

// For a repair, which may be the next that happens.
void Engine::remember_sick() const {
  if (!memory_) return;
  SickNames names;
  std::set<NodeId> sick = head_.sick;
  sick.insert(catalog_.chain.sick.nodes.begin(), catalog_.chain.sick.nodes.end());
  for (const NodeId node : sick) {
    if (node.value < head_.topology.node_count()) names.nodes.insert(head_.topology.nodes[node.value].name);
  }
  names.hosts = {catalog_.chain.sick.hosts.begin(), catalog_.chain.sick.hosts.end()};
  memory_->know_sick(std::move(names));
}

// If one rank cannot take part (its store does not open, say), all must fail, not hang.
Result<RollCall> Engine::take_stock(const EngineSetup& setup) {
  const Status bell = open_bell();
  if (auto heard = receive_hellos(); !heard) return fail(heard.error());
  const std::optional<Error>& unable = head_.requests.hello_error ? head_.requests.hello_error : setup.unable;
  const Status mine = unable ? fail(*unable) : bell.and_then([&] { return look_around(); });
  const auto span = head_.node.trace.span("call roll");
  LayoutWishes wishes = head_.options.wishes;
  wishes.restart = true;  // a level that cannot be carried is a warning, not an error; the layout is the same
  const auto today = decide_layout(head_.topology, wishes);
  return call_roll(head_.heads, {mine, catalog_.contents, catalog_.chain, setup.failures.lost_nodes,
                                 today ? &today->layout : nullptr});
}

Status Engine::choose_layout(const RollCall& roll) {
  head_.options.wishes.avoid = catalog_.chain.sick.nodes;
  LayoutWishes wishes = head_.options.wishes;
  // After a job that has finished, its snapshots may still be there, and a new job begins.
  wishes.restart = !catalog_.chain.finished &&
                   (roll.any_holdings || !catalog_.chain.global.empty() || !catalog_.chain.elsewhere.empty());
  auto decision = decide_layout(head_.topology, wishes);
  if (!decision) return fail(decision.error());
  head_.node.layout = std::move(decision->layout);
  head_.usable = head_.node.levels.carried_by(head_.node.layout);
  // A store may have been another node of a layout of the same shape. Then the arrangement makes this a different
  // layout: what the store holds as that node must not be taken for what it has to hold as this one.
  head_.node.layout.arrangement = roll.arrangement;
  if (auto status = check(head_.node.layout); !status) return status;
  head_.first_layout = head_.node.layout;
  if (!head_.node.leads()) return {};
  head_.node.log.info("job {}: {}; incarnation {}", head_.options.job, head_.topology.text(),
                      head_.node.incarnation.value);
  head_.node.log.debug("node 0: its head has {} helper threads", head_.node.workers->helpers());
  for (const std::string& note : decision->notes) head_.node.log.info("{}", note);
  for (const std::string& warning : decision->warnings) head_.node.log.warning("{}", warning);
  return {};
}

}  // namespace cairn
