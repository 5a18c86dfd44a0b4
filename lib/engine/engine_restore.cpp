#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/engine.hpp"
#include "store/names.hpp"

namespace cairn {
namespace {

// The L2 placement that a snapshot has under a layout: what is rebuilt goes back to the same places.
std::optional<std::uint64_t> turn_of(const Inventory& inventory, const Identity& snapshot, LayoutId layout) {
  for (const auto& summaries : inventory.by_head) {
    for (const HoldingSummary& summary : summaries) {
      if (summary.snapshot == snapshot && summary.layout == layout && summary.partner) return summary.turn;
    }
  }
  return {};
}

std::string text_of(LevelSet levels) {
  std::vector<std::string> names;
  for (const LevelId level : kAllLevels) {
    if (levels.has(level)) names.push_back(fmt::format("L{}", static_cast<int>(level)));
  }
  return names.empty() ? "nothing" : fmt::format("{}", fmt::join(names, " "));
}

std::vector<ShardEntry> arrived(const RetrieveState& state) {
  std::vector<ShardEntry> own;
  for (const auto& [rank, entry] : state.entries) own.push_back(entry);
  return own;
}

}  // namespace

// Ranks ask; the heads bring shards home and offer them; ranks read them and answer; the heads agree.
Result<bool> Engine::answer_restore() {
  if (different_calls_) {
    refuse_restore(*std::exchange(different_calls_, {}));
    return true;
  }
  if (restore_requests_.size() < ranks_.size()) return false;
  if (!plan_ && !fresh_offered_) {
    if (auto status = offer(); !status) return fail(status.error());
    return true;
  }
  if (restore_results_.size() < ranks_.size()) return false;
  if (auto status = conclude_restore(); !status) return fail(status.error());
  return true;
}

// Fails only when a peer is lost.
Status Engine::offer() {
  const auto span = node_.trace.span("answer restore");
  const auto start = std::chrono::steady_clock::now();
  auto offer = prepare_offer();
  if (!offer) {
    if (offer.error().code == Code::communication) return fail(offer.error());
    heed_strikes();
    retrieval_.reset();
    refuse_restore(offer.error());
    return {};
  }
  log_sources();
  offer->seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  fresh_offered_ = offer->fresh;
  regions_touched_ |= !offer->fresh;
  for (const Rank rank : ranks_) {
    if (plan_) {
      const Delivery& delivery = plan_->deliveries[rank.value];
      offer->level = delivery.level;
      offer->source = describe_source(delivery);
    }
    tell(rank, *offer);
  }
  bell_->ring(Bell::Who::ranks);
  return {};
}

// Ranks that wait for the end go on waiting for it.
void Engine::refuse_restore(const Error& error) {
  closed_ = all_voted_ = false;
  regions_touched_ = false;
  for (const Rank rank : std::exchange(restore_requests_, {})) tell(rank, RestoreDone{last_version_, error});
  bell_->ring(Bell::Who::ranks);
}

// Every rank whose shard did not lie in its own node's store, named by the node that needs it.
void Engine::log_sources() const {
  if (!plan_) return;
  for (const Rank rank : ranks_) {
    const Delivery& delivery = plan_->deliveries[rank.value];
    if (delivery.in_place()) continue;
    node_.log.info("node {}: rank {} of version {} from {}", node_.me.value, rank.value, plan_->snapshot.version.value,
                   describe_source(delivery));
  }
}

Result<Offer> Engine::prepare_offer() {
  Offer offer;
  if (setup_.options.start == EngineOptions::Start::fresh && record_.parent == RunRecord::Parent::undecided) {
    if (leads()) node_.log.info("starting fresh, as [restart] mode says");
    return offer;
  }
  if (!retrieval_) {
    // Snapshots of this life count too: an application may return to one without having failed.
    auto contents = read_store(*node_.local, node_.me, node_.log, *setup_.memory, setup_.sealer);
    if (auto status = agree(setup_.heads, contents ? Status{} : fail(contents.error()), "node"); !status)
      return fail(status.error());
    contents_ = std::move(*contents);
    if (auto status = take_inventory(); !status) return fail(status.error());
  }
  auto plan = make_plan_to_offer();
  const bool none = !plan && plan.error().code == Code::not_found;
  const bool never = !plan && plan.error().code == Code::unrecoverable && nothing_was_sealed();
  if (none || never) {
    if (auto status = check_nothing_unreadable(); !status) return fail(status.error());
    if (regions_touched_) {
      return fail(Code::unrecoverable, "a snapshot was found damaged while ranks read it, and there is no other",
                  "start again: regions hold parts of it, which are no fresh start");
    }
    return fresh_offer(offer);
  }
  if (!plan) return fail(plan.error());

  offer.fresh = false;
  offer.snapshot = plan->snapshot;
  offer.ranks_from.assign(kLevels, 0);
  for (const Delivery& delivery : plan->deliveries) ++offer.ranks_from[static_cast<std::size_t>(delivery.level) - 1];
  for (const NodeId node : plan->lost_nodes) offer.lost_nodes.push_back(fmt::format("node {}", node.value));
  plan_ = std::move(*plan);
  return offer;
}

// Where nothing was sealed, what is there of a snapshot counts for nothing if it is not whole. That must be known
// before ranks read it: after that, a fresh start finds parts of it in their regions.
Result<Plan> Engine::make_plan_to_offer() {
  while (true) {
    auto plan = retrieve(setup_.heads, node_, *retrieval_);
    if (!plan || !nothing_was_sealed()) return plan;
    auto again = forget_what_is_damaged(plan->snapshot);
    if (!again) return fail(again.error());
    if (!*again) return plan;
  }
}

// Looks at the shards that this node's ranks are to read. The same on all heads.
Result<bool> Engine::forget_what_is_damaged(const Identity& snapshot) {
  const std::vector<Rank> damaged = find_damaged(snapshot, arrived(*retrieval_));
  std::vector<Strike> strikes;
  for (const Rank rank : damaged) strikes.push_back({node_.me.value, names::shard(node_.dir(snapshot), rank).path});
  return forget_damaged(setup_.heads, *retrieval_, damaged, strikes);
}

// The job died while it sealed its first snapshot: some nodes have their parts, but no vote can have gone well. Only
// the records of the job's lives can tell; a global store without any knows nothing.
bool Engine::nothing_was_sealed() const {
  if (unreadable_ || chain_.newest.value == 0 || chain_.has_snapshots || record_.snapshots) return false;
  const RetrieveState& state = *retrieval_;
  const auto promoted = [&](const HoldingSummary& summary) {
    return summary.snapshot.incarnation >= state.not_before && (summary.partner || summary.erasure);
  };
  return std::ranges::none_of(state.inventory.by_head, [&](const std::vector<HoldingSummary>& summaries) {
    return std::ranges::any_of(summaries, promoted);
  });
}

// What cannot be read may be the snapshot that is missing.
Status Engine::check_nothing_unreadable() {
  if (!unreadable_ || chain_.finished || began_fresh()) return {};
  Status mine;
  const auto look = [&](const Store& store, const std::vector<Unreadable>& unreadable) {
    if (!mine || unreadable.empty()) return;
    mine = fail(Code::unrecoverable,
                fmt::format("no snapshot of job {} can be read, and there are some: {}: {}", setup_.options.job,
                            store.where(), unreadable.front().error.in(unreadable.front().file.path).message),
                "bring lost nodes' stores back, or set [restart] mode = fresh to start anew");
  };
  look(*node_.local, contents_.unreadable);
  look(*node_.global, chain_.unreadable);
  return agree(setup_.heads, mine, "node");
}

// No snapshot was found. That is a fresh start only if there is nothing that could be missing.
Result<Offer> Engine::fresh_offer(Offer offer) {
  const bool something_to_lose = began_fresh() ? record_.snapshots : chain_.has_snapshots && !chain_.finished;
  if (something_to_lose) {
    return fail(Code::unrecoverable,
                fmt::format("job {} has taken snapshots, and no store holds any of them now", setup_.options.job),
                "bring the lost nodes' stores back, or set [restart] mode = fresh to start anew");
  }
  if (setup_.options.start == EngineOptions::Start::required && !began_fresh()) {
    return fail(Code::unrecoverable,
                fmt::format("[restart] mode = required, and job {} has no snapshot to go on from", setup_.options.job));
  }
  if (leads()) {
    node_.log.info("{}", chain_.finished ? "the last run of this job finished; starting fresh"
                                         : "no snapshots yet; starting fresh");
  }
  return offer;
}

Status Engine::conclude_restore() {
  const auto span = node_.trace.span("conclude restore");
  auto results = std::move(restore_results_);
  restore_results_.clear();
  std::vector<Strike> strikes;
  std::vector<Rank> damaged;
  Result<std::uint64_t> safe_point = 0;
  if (plan_) {
    // Read while a shard that cannot be read may still be replaced.
    safe_point = read_safe_point(*plan_);
    std::optional<Error>& result = results[ranks_.empty() ? Rank{} : ranks_.front()];
    if (!safe_point && !result) result = safe_point.error();
  }
  Status other;
  for (auto& [rank, error] : results) {
    if (!error) continue;
    if (is_of_source(error->code) && plan_) {
      damaged.push_back(rank);
      strikes.push_back({node_.me.value, names::shard(node_.dir(plan_->snapshot), rank).path});
      node_.log.warning("rank {}: {}", rank.value, error->text());
    } else {
      other = fail(error->in("rank " + std::to_string(rank.value)));
    }
  }
  Status status;
  if (plan_) {
    // Before anybody's complaint: of a snapshot that is not whole it says nothing.
    auto again = forget_damaged(setup_.heads, *retrieval_, damaged, strikes);
    if (again && *again) {
      plan_.reset();
      return {};  // the requests stand: the next step plans again
    }
    heed_strikes();
    if (!again) status = fail(again.error());
  }
  if (status) status = agree(setup_.heads, other, "node");
  if (!status && status.error().code == Code::communication) return status;
  if (status && plan_) {
    status = adopt(*plan_, *safe_point);
    if (!status && status.error().code == Code::communication) return status;
  } else if (status) {
    state_.reset();
    status = record_parent(RunRecord::Parent::fresh, {});
  }
  plan_.reset();
  retrieval_.reset();
  fresh_offered_ = false;
  regions_touched_ = false;
  restore_requests_.clear();
  closed_ = all_voted_ = false;
  RestoreDone done;
  done.last_version = last_version_;
  if (!status) done.error = status.error();
  tell_all(done);
  return {};
}

// What was found bad while a snapshot was sought counts no longer.
void Engine::heed_strikes() {
  if (!retrieval_) return;
  for (const auto& [id, levels] : retrieval_->inventory.levels_reached()) {
    if (const auto known = known_.find(id); known != known_.end()) strike(known->second, levels.struck);
  }
}

// The snapshot is the job's state now: note what this node holds of it, and rebuild what was lost. Newer ones that were
// passed over are not, whatever is there of them: nothing is given up for them.
Status Engine::adopt(const Plan& plan, std::uint64_t safe_point) {
  const Inventory& inventory = retrieval_->inventory;
  Known& known = known_[plan.snapshot];
  for (auto passed = known_.upper_bound(plan.snapshot); passed != known_.end(); ++passed) {
    strike(passed->second, LevelSet::of_bits(0xff));
  }
  const NodeManifest before = known.manifest;
  Holding* holding = known.manifest.find(node_.layout.id());
  if (holding == nullptr) {
    known.manifest.holdings.insert(known.manifest.holdings.begin(), Holding{node_.layout, node_.me, {}, {}, {}});
    holding = &known.manifest.holdings.front();
  }
  holding->own = arrived(*retrieval_);
  if (!ranks_.empty()) known.manifest.safe_point = safe_point;
  // A store without any room still gives back what it has.
  const Status kept = known.manifest == before ? Status{} : keep(known.manifest);
  if (auto status = agree(setup_.heads, kept, "node"); !status) return status;
  state_ = plan.snapshot;
  known.complete.add(LevelId::local);
  known.struck.remove(LevelId::local);
  known.lost = false;
  // A directory whose manifest was not there at the start is one of this snapshot now.
  std::erase(contents_.orphans, node_.dir(plan.snapshot));
  std::erase_if(contents_.unreadable, [&](const Unreadable& what) { return what.dir == node_.dir(plan.snapshot); });

  const bool moved = !std::ranges::all_of(plan.deliveries, &Delivery::in_place);
  known.due = levels_to_rebuild(inventory, plan.snapshot, moved);
  known.rebuilt = known.due;
  const auto reached = inventory.levels_reached_by_layout();
  const auto today = reached.find({plan.snapshot, node_.layout.id()});
  if (today != reached.end()) known.today = today->second.complete;
  if (leads()) node_.log.debug("{} is to be rebuilt at {}", node_.name_of(plan.snapshot), text_of(known.due));
  known.turn = turn_of(inventory, plan.snapshot, node_.layout.id());
  if (!known.due.empty()) promotions_.push_back(plan.snapshot);
  if (plan.snapshot.incarnation == node_.incarnation) return {};
  return record_parent(RunRecord::Parent::snapshot, plan.snapshot);
}

Result<std::uint64_t> Engine::read_safe_point(const Plan& plan) const {
  if (ranks_.empty()) return 0;
  const auto shard = Shard::open(*node_.local, names::shard(node_.dir(plan.snapshot), ranks_.front()));
  if (!shard) return fail(shard.error());
  return shard->header().safe_point;
}

// L2 and L3 where some node lost its part, or, when shards had to be brought home, where they are not whole today.
LevelSet Engine::levels_to_rebuild(const Inventory& inventory, const Identity& snapshot, bool moved) const {
  const LayoutId layout = node_.layout.id();
  std::size_t partner = 0;
  std::size_t erasure = 0;
  for (const auto& summaries : inventory.by_head) {
    for (const HoldingSummary& summary : summaries) {
      if (summary.snapshot != snapshot || summary.layout != layout) continue;
      partner += summary.partner ? 1 : 0;
      erasure += summary.erasure ? 1 : 0;
    }
  }
  const std::string prefix = node_.dir(snapshot).path + "/";
  const bool struck =
      std::ranges::any_of(inventory.strikes, [&](const Strike& strike) { return strike.file.starts_with(prefix); });
  const auto needs = [&](LevelId level, std::size_t parts) {
    if (!usable_.has(level) || (parts == node_.layout.nodes && !struck)) return false;
    return moved || struck || parts > 0;
  };
  LevelSet due;
  if (needs(LevelId::partner, partner)) due.add(LevelId::partner);
  if (needs(LevelId::erasure, erasure)) due.add(LevelId::erasure);
  return due;
}

}  // namespace cairn
