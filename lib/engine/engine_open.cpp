#include <algorithm>
#include <random>

#include <fmt/format.h>

#include "engine/engine.hpp"
#include "store/names.hpp"

namespace cairn {
namespace {

// What earlier lives were writing when they died. One that is still alive will find itself taken over.
Status remove_partial(Store& global, RunId run) {
  auto entries = global.list(DirName{});
  if (!entries) return fail(entries.error());
  for (const Entry& entry : *entries) {
    const auto dir = names::parse_snapshot(entry.name);
    if (!dir || !dir->partial || dir->run == run) continue;
    if (auto status = global.remove_directory(DirName{entry.name}); !status) return status;
  }
  return {};
}

}  // namespace

Engine::Engine(EngineSetup setup) : setup_(std::move(setup)) {
  node_.me = NodeId{setup_.heads.rank().value};
  node_.local = setup_.local;
  node_.global = setup_.global;
  node_.log = setup_.log;
  node_.trace = setup_.trace;
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
  Status status = engine->hear_hellos();
  if (status) status = engine->take_stock();
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
  engine->tell_all(opened);
  if (!status) return fail(status.error());

  engine->node_.between = [raw = engine.get()] { raw->tick(); };
  engine->setup_.heads.on_wait([raw = engine.get()] {
    raw->tick();
    return false;
  });
  return engine;
}

// A rank that cannot take part (its store does not open, say) must stop all of them, not hang them.
Status Engine::hear_hellos() {
  while (hellos_.size() < ranks_.size()) {
    auto worked = receive();
    if (!worked) return fail(worked.error());
    setup_.control.idle(*worked);
  }
  return agree(setup_.heads, hello_error_ ? fail(*hello_error_) : Status{}, "node");
}

Status Engine::take_stock() {
  const auto span = node_.trace.span("list stores");
  Status mine;
  if (!node_.local) mine = fail(Code::io, fmt::format("node {} has no store", node_.me.value));
  if (mine) {
    auto lock = node_.local->lock();
    auto bell = lock ? node_.local->bell() : fail(lock.error());
    auto contents = bell ? read_store(*node_.local, node_.me, node_.log) : fail(bell.error());
    if (contents) {
      lock_ = std::move(*lock);
      bell_ = std::move(*bell);
      contents_ = std::move(*contents);
    } else {
      mine = fail(contents.error());
    }
  }
  if (auto status = agree(setup_.heads, mine, "node"); !status) return status;
  auto chain = learn_chain(setup_.heads, *node_.global, node_.log);
  if (!chain) return fail(chain.error());
  chain_ = std::move(*chain);
  return {};
}

// A new life has a number higher than any that any store has seen, and a random id in case two take the same.
Status Engine::start_life() {
  std::uint64_t highest[3] = {chain_.newest.value, std::max(chain_.highest_version, contents_.highest_version).value,
                              0};
  for (const NodeManifest& manifest : contents_.manifests) {
    highest[0] = std::max<std::uint64_t>(highest[0], manifest.identity.incarnation.value);
    for (const Holding& holding : manifest.holdings) {
      if (holding.partner) highest[2] = std::max(highest[2], holding.partner->k + 1);
    }
  }
  if (auto status = setup_.heads.allreduce(highest, Reduce::max); !status) return status;
  node_.incarnation.value = static_cast<std::uint32_t>(highest[0]) + 1;
  last_version_.value = static_cast<std::uint32_t>(highest[1]);
  turns_[LevelId::partner] = highest[2];

  Buffer drawn;
  if (leads()) {
    std::random_device device;
    ByteWriter out;
    out.put((static_cast<std::uint64_t>(device()) << 32U) | device());
    drawn = out.take();
  }
  auto run = setup_.heads.broadcast(drawn, Peer{0});
  if (!run) return fail(run.error());
  node_.run.value = ByteReader(*run).get<std::uint64_t>();
  node_.trace.begin(node_.incarnation);
  record_.incarnation = node_.incarnation;
  record_.run = node_.run;
  Status recorded;
  if (leads()) {
    recorded = write_run_record(*node_.global, record_);
    if (recorded) recorded = remove_partial(*node_.global, node_.run);
  }
  return agree(setup_.heads, recorded, "node");
}

Status Engine::choose_layout() {
  std::uint64_t holds = contents_.manifests.empty() ? 0 : 1;
  if (auto status = setup_.heads.allreduce(std::span(&holds, 1), Reduce::max); !status) return status;
  LayoutWishes wishes = setup_.options.wishes;
  wishes.restart = holds != 0 || !chain_.global.empty();
  auto decision = decide_layout(setup_.topology, wishes);
  if (!decision) return fail(decision.error());
  node_.layout = std::move(decision->layout);
  usable_ = decision->usable;
  if (!leads()) return {};
  node_.log.info("job {}: {}; incarnation {}", setup_.options.job, setup_.topology.text(), node_.incarnation.value);
  node_.log.debug("node 0: its head has {} helper threads", node_.workers->helpers());
  for (const std::string& note : decision->notes) node_.log.info("{}", note);
  for (const std::string& warning : decision->warnings) node_.log.warning("{}", warning);
  return {};
}

// What all stores hold, and with it what this node knows of every snapshot.
Status Engine::take_inventory() {
  const auto span = node_.trace.span("inventory");
  auto inventory = gather_inventory(setup_.heads, contents_, node_.layout);
  if (!inventory) return fail(inventory.error());
  inventory->global = chain_.global;
  for (const auto& [id, known] : known_) {
    if (known.complete.has(LevelId::global)) inventory->global.push_back(id);
  }
  known_.clear();
  for (const auto& [id, levels] : inventory->complete_levels()) {
    known_[id].manifest.identity = id;
    known_[id].complete = levels;
  }
  for (const NodeManifest& manifest : contents_.manifests) known_[manifest.identity].manifest = manifest;
  const bool first = record_.parent == RunRecord::Parent::undecided;
  retrieval_ = RetrieveState{std::move(*inventory),
                             contents_.manifests,
                             chain_.fresh_start,
                             setup_.options.verify_own,
                             setup_.failures.lost_nodes,
                             {},
                             {},
                             {}};
  if (first && (chain_.finished || setup_.options.start == EngineOptions::Start::fresh))
    retrieval_->not_before = node_.incarnation;
  return {};
}

}  // namespace cairn
