#include <algorithm>
#include <random>
#include <utility>

#include <fmt/format.h>

#include "engine/engine.hpp"
#include "recover/belonging.hpp"
#include "recover/learn_inventory.hpp"
#include "store/names.hpp"

namespace cairn {
namespace {

RunId draw_run() {
  std::random_device device;
  return RunId{(static_cast<std::uint64_t>(device()) << 32U) | device()};
}

}  // namespace

Engine::Engine(EngineSetup setup)
    : setup_(std::move(setup)), inquiry_(setup_.topology, NodeId{setup_.heads.rank().value}, ways()) {
  node_.me = NodeId{setup_.heads.rank().value};
  node_.local = setup_.local;
  node_.global = setup_.global;
  node_.log = setup_.log;
  node_.trace = setup_.trace;
  if (!setup_.memory) setup_.memory = std::make_shared<StoreMemory>();
  node_.workers = std::make_shared<Workers>(std::max(setup_.options.threads, 1U) - 1);
  ranks_ = setup_.topology.nodes[node_.me.value].ranks;
  for (const LevelId level : kAllLevels) levels_[level] = make_level(level);
}

Engine::~Engine() {
  setup_.heads.on_wait({});
  setup_.votes.on_wait({});
}

Result<std::unique_ptr<Engine>> Engine::open(EngineSetup setup) {
  std::unique_ptr<Engine> engine(new Engine(std::move(setup)));
  const auto span = engine->node_.trace.span("open head");
  Status status = engine->take_stock();
  if (status) status = engine->start_life();
  if (status) status = engine->choose_layout();
  if (status) status = engine->take_inventory();

  Opened opened;
  opened.incarnation = engine->node_.incarnation;
  opened.run = engine->node_.run;
  opened.last_version = engine->last_version_;
  opened.usable = engine->usable_;
  opened.slots = slots_needed(engine->setup_.options.keep, engine->usable_);
  opened.measured = engine->chain_.measured;
  if (!status) opened.error = status.error();
  if (status) engine->silence_.begin(*engine->bell_, engine->setup_.clock());
  engine->tell_all(opened);
  if (!status) return fail(status.error());

  engine->node_.between = [raw = engine.get()] { raw->tick(); };
  engine->setup_.heads.on_wait([raw = engine.get()] {
    raw->tick();
    return false;
  });
  return engine;
}

Status Engine::hear_hellos() {
  while (hellos_.size() < ranks_.size()) {
    auto worked = receive();
    if (!worked) return fail(worked.error());
    setup_.control.idle(*worked);
  }
  return {};
}

// What this head finds in its own store; for all heads, head 0 looks at the global one.
Status Engine::look_around() {
  const auto span = node_.trace.span("list stores");
  if (!node_.local) return fail(Code::io, fmt::format("node {} has no store", node_.me.value));
  auto lock = node_.local->lock();
  if (!lock) return fail(lock.error());
  auto bell = node_.local->bell();
  if (!bell) return fail(bell.error());
  auto contents = read_store(*node_.local, node_.me, node_.log, *setup_.memory, setup_.sealer);
  if (!contents) return fail(contents.error());
  lock_ = std::move(*lock);
  bell_ = std::move(*bell);
  contents_ = std::move(*contents);
  if (!leads()) return {};
  auto chain = read_chain(*node_.global, node_.log, setup_.sealer);
  if (!chain) return fail(chain.error());
  chain_ = std::move(*chain);
  chain_.next = draw_run();
  return {};
}

// A rank that cannot take part (its store does not open, say) must stop all of them, not hang them.
Status Engine::take_stock() {
  if (auto heard = hear_hellos(); !heard) return heard;
  const std::optional<Error>& unable = hello_error_ ? hello_error_ : setup_.unable;
  const Status mine = unable ? fail(*unable) : look_around();
  const auto span = node_.trace.span("call roll");
  LayoutWishes wishes = setup_.options.wishes;
  wishes.restart = true;  // which changes no layout, only what is said of it
  const auto today = decide_layout(setup_.topology, wishes);
  auto roll =
      call_roll(setup_.heads, {mine, contents_, chain_, setup_.failures.lost_nodes, today ? &today->layout : nullptr});
  if (!roll) return fail(roll.error());
  roll_ = std::move(*roll);
  return {};
}

// A new life has a number higher than any that any store has seen, and a random id in case two take the same. Nothing
// is written of it yet: a start that is refused must not disturb a job that runs.
Status Engine::start_life() {
  node_.incarnation.value = roll_->newest.value + 1;
  last_version_ = roll_->highest_version;
  turns_[LevelId::partner] = roll_->turns;
  auto chain = share_chain(setup_.heads, leads() ? Result<Chain>(chain_) : Result<Chain>());
  if (!chain) return fail(chain.error());
  chain->unreadable = std::move(chain_.unreadable);
  chain_ = std::move(*chain);
  node_.run = chain_.next;
  record_.incarnation = node_.incarnation;
  record_.run = chain_.next;
  node_.trace.begin(node_.incarnation);
  if (auto status = check_stores_belong(); !status) return status;
  return heed_unreadable();
}

// All node stores with snapshots must be of today's global store, or of one that was lost in its place.
Status Engine::check_stores_belong() {
  const bool known = chain_.mark.has_value();
  mark_ = {known ? chain_.mark->id : roll_->chain, chain_.place};
  // A chain whose mark is there and cannot be read, and that no other store knows, gets no other: it would not be the
  // same.
  if (mark_.id.value == 0 && !chain_.mark_unknown && !roll_->mark_unknown) mark_.id = chain_.next;
  if (mark_.id.value == 0 && setup_.sealer.has_key()) {
    return fail(Code::io,
                fmt::format("{}'s {} cannot be read now, and with a key nothing counts without it",
                            chain_.mark_unknown ? chain_.place : "a node store", names::chain_mark().path),
                "try again");
  }
  node_.sealer = setup_.sealer.of_chain(mark_.id);
  if (roll_->chain.value == 0 || (known && roll_->one_chain && roll_->chain == mark_.id)) return {};
  const Status mine = check_belongs(*node_.local, contents_.mark, mark_.id, known, chain_.place);
  return agree(setup_.heads, mine, "node");
}

// What cannot be read and is not of the past: what is not ours to judge is refused; anything else is something to lose.
Status Engine::heed_unreadable() {
  if (!roll_->unreadable) return {};
  const Past past{chain_.past, chain_.present, chain_.fresh_start.value != 0, roll_->newest_readable};
  const bool fresh = setup_.options.start == EngineOptions::Start::fresh;
  Status mine;
  std::uint64_t found = 0;
  const auto look = [&](const Store& store, const std::vector<Unreadable>& unreadable) {
    for (const Unreadable& what : unreadable) {
      if (past.has(what) || (fresh && what.is_mark())) continue;
      found = 1;
      if (!what.is_others()) continue;
      const Error refusal = refusal_of(store, what);
      const char* becomes = what.file == names::chain_mark() ? "it is replaced" : "it is left there, and not looked at";
      if (fresh) node_.log.warning("{}; {}", refusal.message, becomes);
      if (!fresh && mine) mine = fail(refusal);
    }
  };
  look(*node_.local, contents_.unreadable);
  look(*node_.global, chain_.unreadable);
  if (auto status = setup_.heads.allreduce({&found, 1}, Reduce::max); !status) return status;
  unreadable_ = found != 0;
  return agree(setup_.heads, mine, "node");
}

Status Engine::choose_layout() {
  LayoutWishes wishes = setup_.options.wishes;
  wishes.restart = roll_->any_holdings || !chain_.global.empty();
  auto decision = decide_layout(setup_.topology, wishes);
  if (!decision) return fail(decision.error());
  node_.layout = std::move(decision->layout);
  usable_ = decision->usable;
  // Where a store was another node of this shape, the shape is another layout from now on: what it holds as the one
  // must not be taken for what it is to hold as the other.
  node_.layout.arrangement = roll_->arrangement;
  if (auto status = check(node_.layout); !status) return status;
  if (!leads()) return {};
  node_.log.info("job {}: {}; incarnation {}", setup_.options.job, setup_.topology.text(), node_.incarnation.value);
  node_.log.debug("node 0: its head has {} helper threads", node_.workers->helpers());
  for (const std::string& note : decision->notes) node_.log.info("{}", note);
  for (const std::string& warning : decision->warnings) node_.log.warning("{}", warning);
  return {};
}

// The inventory, and with it what this node knows of every snapshot.
Status Engine::take_inventory() {
  const auto span = node_.trace.span("inventory");
  const bool first = record_.parent == RunRecord::Parent::undecided;
  const bool begins_fresh = first && (chain_.finished || setup_.options.start == EngineOptions::Start::fresh);
  // A life that began fresh never goes back behind that, however often it restores.
  const bool fresh = begins_fresh || began_fresh();
  const Incarnation not_before = fresh ? node_.incarnation : chain_.fresh_start;
  const auto roll = std::exchange(roll_, std::nullopt);
  auto inventory = learn_inventory(
      setup_.heads, {node_, contents_, roll, setup_.failures, chain_, not_before, setup_.options.level_by_level});
  if (!inventory) return fail(inventory.error());
  const std::map<Identity, Known> before = std::exchange(known_, {});
  for (const auto& [id, known] : before) {
    if (known.complete.has(LevelId::global) || known.struck.has(LevelId::global)) inventory->global.push_back(id);
  }
  for (const auto& [id, levels] : inventory->levels_reached()) {
    known_[id].manifest.identity = id;
    known_[id].complete = levels.complete;
    known_[id].struck = levels.struck;
    if (const auto known = before.find(id); known != before.end()) strike(known_[id], known->second.struck);
  }
  for (const NodeManifest& manifest : contents_.manifests) known_[manifest.identity].manifest = manifest;
  retrieval_ = RetrieveState{std::move(*inventory),
                             contents_.manifests,
                             not_before,
                             setup_.options.verify_own,
                             setup_.failures.lost_nodes,
                             {},
                             {},
                             {}};
  return {};
}

}  // namespace cairn
