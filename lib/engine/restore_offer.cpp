#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "comm/counting_comm.hpp"
#include "engine/restore_desk.hpp"
#include "recover/labels.hpp"
#include "recover/learn_inventory.hpp"
#include "recover/unreadable.hpp"

namespace cairn {
namespace {

// Some file that cannot be read now may hold what is missing.
Error as_unreadable(Error error) {
  if (error.code != Code::unrecoverable) return error;
  return {Code::unreadable, std::move(error.message), cure_of_loss(true), std::move(error.file)};
}

// Nobody starts fresh because a version that was chosen is not there.
Error as_choice(Error error) {
  if (error.code == Code::unrecoverable) error.code = Code::version_unavailable;
  return error;
}

}  // namespace

// The inventory, and with it what this node knows of every snapshot.
Status RestoreDesk::take_inventory(const std::optional<RollCall>& roll) {
  auto state = make_state(catalog_.contents, roll);
  if (!state) return fail(state.error());
  catalog_.take(state->inventory);
  catalog_.retrieval = std::move(*state);
  return {};
}

// `contents`: of this node's store.
Result<RetrieveState> RestoreDesk::make_state(const StoreContents& contents, const std::optional<RollCall>& roll) {
  const auto span = head_.node.trace.span("inventory");
  const Incarnation not_before = oldest_life({});
  auto inventory = learn_inventory(
      head_.heads, {head_.node, contents, roll, failures_, catalog_.chain, not_before, head_.options.level_by_level});
  if (!inventory) return fail(inventory.error());
  RetrieveState state;
  state.inventory = std::move(*inventory);
  state.manifests = contents.manifests;
  state.verify_own = head_.options.verify_own;
  state.lost_nodes = failures_.lost_nodes;
  state.elastic = head_.options.elastic;
  return state;
}

// The oldest life whose snapshots may be restored. A life that began fresh restores none of earlier lives. A chosen
// version may be of a chain that has finished.
Incarnation RestoreDesk::oldest_life(Version chosen) const {
  const Chain& chain = catalog_.chain;
  const bool begins_fresh =
      life_.is_undecided() && (chain.finished || head_.options.start == EngineOptions::Start::fresh);
  if (life_.began_fresh() || (begins_fresh && chosen.value == 0)) return head_.node.incarnation;
  return chosen.value == 0 ? chain.fresh_start : Incarnation{};
}

// 0: the newest of the branch. The same request may come in each life: it is a choice once.
// Collective, if it is for a label.
Result<Version> RestoreDesk::version_to_choose() {
  const RestoreRequest& request = *seals_.request();
  const auto& [version, label] = catalog_.chain.chosen_at_start;
  const bool may_be_taken = request.at_start && !request.again;
  if (!seals_.is_for_label()) return may_be_taken && request.version == version ? Version{} : request.version;
  std::array<std::uint64_t, 1> differs{may_be_taken && (request.label.empty() || request.label == label) ? 0U : 1U};
  if (auto status = head_.heads.allreduce(differs, Reduce::max); !status) return fail(status.error());
  if (differs[0] == 0) return Version{};
  std::vector<Unreadable> unreadable = catalog_.contents.unreadable;
  std::ranges::copy(catalog_.chain.unreadable, std::back_inserter(unreadable));
  std::vector<Identity> global = catalog_.chain.global;
  for (const auto& [id, one] : catalog_.known) {
    if (!(one.complete & head_.node.levels.in_global_store()).empty()) global.push_back(id);
  }
  KnownLabels here = labels_here(head_.node, retrieval().manifests, global, unreadable);
  std::erase_if(here.snapshots, [&](const LabeledSnapshot& one) { return catalog_.is_rejected(one.snapshot); });
  return find_labeled(head_.heads, request.label, here, head_.node.log);
}

Result<Offer> RestoreDesk::prepare_offer() {
  Offer offer;
  if (!seals_.request()) return fail(seals_.request().error());
  if (opens()) return prepare_open();
  if (head_.options.start == EngineOptions::Start::fresh && life_.is_undecided()) {
    if (head_.node.leads()) head_.node.log.info("[restart] mode = fresh: starting fresh");
    return offer;
  }
  if (!catalog_.retrieval) {
    // Snapshots of this life count too: an application may return to one without having failed.
    const Status mine = catalog_.read(life_.sealer());
    if (auto status = agree(head_.heads, mine, "node"); !status) return fail(status.error());
    if (auto status = life_.check_unreadable_again(); !status) return fail(status.error());
    if (auto status = take_inventory({}); !status) return fail(status.error());
  }
  RetrieveState& retrieval = *catalog_.retrieval;
  auto chosen = version_to_choose();
  if (!chosen) return fail(chosen.error());
  retrieval.chosen = *chosen;
  retrieval.branch = catalog_.chain.branch;
  retrieval.rejected = catalog_.rejected;
  retrieval.not_before = oldest_life(retrieval.chosen);
  auto plan = make_plan_to_offer();
  if (!plan && retrieval.chosen.value != 0) return fail(as_choice(plan.error()));
  const bool none = !plan && plan.error().code == Code::not_found;
  const bool never = !plan && plan.error().code == Code::unrecoverable && nothing_was_sealed();
  if (none || never) {
    if (auto status = check_nothing_unreadable(); !status) return fail(status.error());
    if (regions_touched_) {
      return fail(Code::unrecoverable,
                  "ranks found the snapshot damaged while they read it, and there is no other snapshot",
                  "start the job again: the regions hold parts of that snapshot, so this run cannot start fresh");
    }
    return fresh_offer(offer);
  }
  if (!plan) return fail(life_.may_become_readable() ? as_unreadable(plan.error()) : plan.error());
  if (auto status = life_.check_chain_is_known(); !status) return fail(status.error());

  describe(*plan, offer);
  plan_ = std::move(*plan);
  return offer;
}

void RestoreDesk::describe(const Plan& plan, Offer& offer) const {
  offer.fresh = false;
  offer.snapshot = plan.snapshot;
  for (const LevelId level : head_.node.levels.all()) offer.ranks_from.resize(static_cast<std::size_t>(level));
  offer.old_ranks = static_cast<std::uint32_t>(plan.deliveries.size());
  for (const Delivery& delivery : plan.deliveries) ++offer.ranks_from[static_cast<std::size_t>(delivery.level) - 1];
  for (const NodeId node : plan.lost_nodes) offer.lost_nodes.push_back(fmt::format("node {}", node.value));
}

// Where no snapshot was ever sealed, one that is not whole does not count. That must be known before ranks read it:
// after that, their regions hold parts of it, and a fresh start is no longer possible.
Result<Plan> RestoreDesk::make_plan_to_offer() {
  while (true) {
    CountingComm heads(head_.heads, [this](Peer to) { return to != head_.heads.rank(); });
    auto plan = retrieve(heads, head_.node, retrieval());
    moved_bytes_ += heads.sent_bytes();
    if (!plan || !nothing_was_sealed()) return plan;
    auto again = forget_what_is_damaged(*plan);
    if (!again) return fail(again.error());
    if (!*again) return plan;
  }
}

// Looks at the shards that this node's ranks are to read. What was brought aside was read when it came. The same on all
// heads.
Result<bool> RestoreDesk::forget_what_is_damaged(const Plan& plan) {
  std::vector<ShardEntry> shards = retrieval().own_shards();
  if (plan.aside)
    std::erase_if(shards, [&](const ShardEntry& shard) { return !plan.deliveries[shard.rank.value].in_place(); });
  const std::vector<Rank> damaged = catalog_.find_damaged(plan.snapshot, shards);
  std::vector<Strike> strikes;
  for (const Rank rank : damaged) strikes.push_back(strike_at_home(head_.node, plan, rank));
  return forget_damaged(head_.heads, retrieval(), damaged, strikes);
}

// The job died while it sealed its first snapshot: some nodes have their parts, but no vote can have gone well. Only
// the records of the job's lives can tell; a global store without any knows nothing.
bool RestoreDesk::nothing_was_sealed() const {
  if (life_.has_unreadable() || catalog_.chain.newest.value == 0 || catalog_.chain.has_snapshots ||
      life_.has_snapshots())
    return false;
  const RetrieveState& state = retrieval();
  const auto promoted = [&](const HoldingSummary& summary) {
    return summary.snapshot.incarnation >= state.not_before &&
           !(summary.levels & head_.node.levels.of_redundancy()).empty();
  };
  return std::ranges::none_of(state.inventory.by_head, [&](const std::vector<HoldingSummary>& summaries) {
    return std::ranges::any_of(summaries, promoted);
  });
}

// A file that cannot be read may belong to the missing snapshot.
Status RestoreDesk::check_nothing_unreadable() {
  if (!life_.has_unreadable() || catalog_.chain.finished || life_.began_fresh()) return {};
  if (auto status = life_.check_chain_is_known(); !status) return status;
  Status mine;
  const bool may_be_whole = life_.may_become_readable();
  const auto look = [&](const Store& store, const std::vector<Unreadable>& unreadable) {
    if (!mine || unreadable.empty()) return;
    mine = fail(may_be_whole ? Code::unreadable : Code::unrecoverable,
                fmt::format("job {} has snapshots, but none is readable: {}: {}", head_.options.job, store.where(),
                            unreadable.front().error.in_file(unreadable.front().file.path).message),
                cure_of_loss(may_be_whole));
  };
  look(*head_.node.local, catalog_.contents.unreadable);
  look(*head_.node.global, catalog_.chain.unreadable);
  return agree(head_.heads, mine, "node");
}

// No snapshot was found. That is a fresh start only if there is nothing that could be missing: this life has restored
// or taken none, and those before it have left none.
Result<Offer> RestoreDesk::fresh_offer(Offer offer) {
  const bool left_some = !life_.began_fresh() && catalog_.chain.has_snapshots && !catalog_.chain.finished;
  if (left_some || life_.has_snapshots()) {
    return fail(Code::unrecoverable,
                fmt::format("job {} has taken snapshots, but no store has any of them", head_.options.job),
                cure_of_loss(false));
  }
  if (head_.options.start == EngineOptions::Start::required && !life_.began_fresh()) {
    return fail(Code::unrecoverable,
                fmt::format("[restart] mode = required, but job {} has no snapshot to restore", head_.options.job),
                "check [job] name and the directories in [storage]; with mode = auto the job starts fresh");
  }
  if (head_.node.leads()) {
    head_.node.log.info("{}", catalog_.chain.finished ? "the last run of this job finished; starting fresh"
                                                      : "no snapshots yet; starting fresh");
  }
  return offer;
}

}  // namespace cairn
