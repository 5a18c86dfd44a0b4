#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/restore_desk.hpp"
#include "store/names.hpp"

namespace cairn {
namespace {

// The placement that a snapshot has under a layout: what is rebuilt goes back to the same places.
std::optional<std::uint64_t> turn_of(const Inventory& inventory, const Identity& snapshot, LayoutId layout) {
  const LevelSet turning = inventory.levels.that_take_turns();
  for (const auto& summaries : inventory.by_head) {
    for (const HoldingSummary& summary : summaries) {
      if (summary.snapshot != snapshot || summary.layout != layout) continue;
      if (!(summary.levels & turning).empty()) return summary.turn;
    }
  }
  return {};
}

// Whether all of them are in this node's store; true if it cannot be listed. Somebody may have removed them since they
// were read.
bool has_shards(const NodeContext& node, const Identity& snapshot, const std::vector<ShardEntry>& shards) {
  const auto entries = node.local->list(node.dir(snapshot));
  const auto is_there = [&](const ShardEntry& shard) {
    return has_entry(*entries, names::shard(node.dir(snapshot), shard.rank));
  };
  return !entries || std::ranges::all_of(shards, is_there);
}

std::string text_of(LevelSet levels) {
  std::vector<std::string> names;
  for (const LevelId level : levels) names.push_back(fmt::format("L{}", static_cast<int>(level)));
  return names.empty() ? "no level" : fmt::format("{}", fmt::join(names, " "));
}

}  // namespace

// Newer ones than the job's state never will be its state, whatever is left of them, so nothing is retired in their
// favour.
void RestoreDesk::pass_over_newer_than(const Identity& snapshot) {
  for (auto passed = catalog_.known.upper_bound(snapshot); passed != catalog_.known.end(); ++passed) {
    passed->second.strike(LevelSet::all());
  }
}

// What the life goes on from, and whether somebody has chosen it.
Status RestoreDesk::record(const Identity& snapshot) {
  const bool is_chosen = catalog_.retrieval->chosen.value != 0;
  Status recorded;
  if (is_chosen || is_instead_of_rejected(snapshot))
    recorded = life_.record_choice({snapshot, seals_.last_version(), is_chosen && seals_.request()->at_start,
                                    is_chosen ? seals_.request()->label : std::string()});
  else if (snapshot.incarnation != head_.node.incarnation)
    recorded = life_.record_parent(RunRecord::Parent::snapshot, snapshot);
  if (!recorded) return recorded;
  catalog_.strike_abandoned();
  if (head_.node.leads()) log_branch(snapshot);
  return {};
}

// Whether the job would have restored a newer one that the program has rejected. So that no later life does.
bool RestoreDesk::is_instead_of_rejected(const Identity& snapshot) const {
  return std::ranges::any_of(
      catalog_.rejected, [&](const Identity& rejected) { return rejected > snapshot && catalog_.chain.has(rejected); });
}

void RestoreDesk::log_branch(const Identity& snapshot) const {
  const Log& log = head_.node.log;
  if (catalog_.retrieval->chosen.value != 0) {
    log.info("version {} was chosen: the job continues from it, and newer versions will not be restored",
             snapshot.version.value);
  } else if (seals_.is_for_label() || seals_.request()->version.value != 0) {
    log.info("version {} was chosen by an earlier run: the job continues with the newest of its branch, version {}",
             catalog_.chain.chosen_at_start.version.value, snapshot.version.value);
  }
}

// The ranks hold the state of a snapshot that is not theirs: no node has its part of it by today's layout, and nothing
// is rebuilt. It stays as it is until the next snapshot, which is taken soon, has replaced it.
Status RestoreDesk::adopt_of_other_ranks(const Plan& plan) {
  pass_over_newer_than(plan.snapshot);
  if (auto status = record(plan.snapshot); !status) return status;
  catalog_.state.reset();
  catalog_.of_other_ranks = plan.snapshot;
  moved_.reset();
  next_ = levels_of_next_snapshot(catalog_.retrieval->inventory, plan);
  return {};
}

// Those that the old snapshot had, as far as they are on and today's nodes can carry them. If these survive less, the
// last level, too.
LevelSet RestoreDesk::levels_of_next_snapshot(const Inventory& inventory, const Plan& plan) const {
  const NodeContext& node = head_.node;
  const auto reached = inventory.levels_reached();
  LevelSet had = {node.levels.of_own_shards()};
  if (const auto found = reached.find(plan.snapshot); found != reached.end()) {
    had.add(found->second.complete);
    had.add(found->second.struck);
  }
  LevelSet can = head_.usable - head_.options.off;
  can.add(node.levels.of_own_shards());
  LevelSet next = had & can;
  bool survives_less = next != had;
  for (const auto& summaries : inventory.by_head) {
    for (const HoldingSummary& summary : summaries) {
      if (summary.snapshot != plan.snapshot) continue;
      const Layout& old = inventory.layouts.at(summary.layout);
      survives_less |= node.layout.copies < old.copies || node.layout.parity < old.parity;
    }
  }
  const LevelId last = node.levels.of_last_state();
  if (!survives_less || next.has(last)) return next;
  if (can.has(last)) {
    next.add(last);
  } else if (node.leads()) {
    node.log.warning(
        "the nodes of today cannot protect snapshots as well as version {} was protected: the next loss "
        "of nodes may lose all snapshots. Use more nodes, or turn [levels] l{} on",
        plan.snapshot.version.value, static_cast<int>(last));
  }
  return next;
}

// The snapshot is the job's state now: note what this node holds of it, and rebuild what was lost.
Status RestoreDesk::adopt(const Plan& plan, std::uint64_t safe_point) {
  const Inventory& inventory = catalog_.retrieval->inventory;
  Known& known = catalog_.known[plan.snapshot];
  pass_over_newer_than(plan.snapshot);
  if (!std::ranges::all_of(plan.deliveries, &Delivery::in_place)) moved_ = plan.snapshot;
  if (auto status = agree(head_.heads, note_own_shards(known, safe_point), "node"); !status) return status;
  const LevelId own = head_.node.levels.of_own_shards();
  known.complete.add(own);
  known.struck.remove(own);
  known.lost = false;
  // A directory whose manifest was not there at the start is one of this snapshot now.
  std::erase(catalog_.contents.orphans, head_.node.dir(plan.snapshot));
  std::erase_if(catalog_.contents.unreadable,
                [&](const Unreadable& what) { return what.dir == head_.node.dir(plan.snapshot); });

  // Recorded before anything is rebuilt, because what is rebuilt replaces the files of an earlier layout, and older
  // snapshots may then go. If the record cannot be written, the restore has failed for the application, and all of that
  // must stay.
  if (auto status = record(plan.snapshot); !status) return status;
  catalog_.state = plan.snapshot;
  catalog_.of_other_ranks.reset();
  const bool moved = std::exchange(moved_, std::nullopt) == plan.snapshot;
  known.due = levels_to_rebuild(inventory, plan.snapshot, moved);
  known.rebuilt = known.due;
  const auto reached = inventory.levels_reached_by_layout();
  const auto today = reached.find({plan.snapshot, head_.node.layout.id()});
  if (today != reached.end()) known.today = today->second.complete;
  if (head_.node.leads())
    head_.node.log.debug("{} will be rebuilt at {}", head_.node.name_of(plan.snapshot), text_of(known.due));
  known.turn = turn_of(inventory, plan.snapshot, head_.node.layout.id());
  promoter_.add(known);
  return {};
}

// What the program has said about the snapshot. A node whose store is new has no manifest of it, and neither has any
// node where only a shared store has the snapshot, of which the plan has read them. Fails only when a peer is lost.
// Collective among the heads.
Status RestoreDesk::learn_notes(const Identity& snapshot) {
  Comm& heads = head_.heads;
  const auto& manifests = retrieval().manifests;
  const auto mine = std::ranges::find(manifests, snapshot, &NodeManifest::identity);
  notes_ = mine == manifests.end() ? SnapshotNotes{} : mine->notes;
  std::array<std::uint64_t, 2> first{heads.size(), heads.size()};  // head that has a manifest, and one with notes
  if (mine != manifests.end()) first[0] = heads.rank().value;
  if (!notes_.empty()) first[1] = heads.rank().value;
  if (auto status = heads.allreduce(first, Reduce::min); !status) return status;
  const bool is_in_node_stores = first[0] < heads.size();
  if (is_in_node_stores && first[1] == heads.size()) return {};
  if (!is_in_node_stores && head_.node.leads()) {
    const auto& there = retrieval().shared_notes;
    if (const auto known = there.find(snapshot); known != there.end()) notes_ = known->second;
  }
  const Peer from{is_in_node_stores ? static_cast<std::uint32_t>(first[1]) : 0};
  const auto known = heads.broadcast(encode(notes_), from);
  if (!known) return fail(known.error());
  auto notes = decode_notes(*known);
  if (!notes) return fail(notes.error());
  notes_ = std::move(*notes);
  return {};
}

// Notes that this node has its ranks' shards, under today's layout.
Status RestoreDesk::note_own_shards(Known& known, std::uint64_t safe_point) {
  const NodeManifest before = known.manifest;
  Holding* holding = known.manifest.find(head_.node.layout.id());
  if (holding == nullptr) {
    known.manifest.holdings.insert(known.manifest.holdings.begin(),
                                   Holding{head_.node.layout, head_.node.me, {}, {}, {}});
    holding = &known.manifest.holdings.front();
  }
  holding->own = catalog_.retrieval->own_shards();
  if (!head_.ranks.empty()) known.manifest.safe_point = safe_point;
  known.manifest.notes.fill_from(notes_);
  // A store without any room still gives back what it has.
  if (known.manifest == before) return {};
  if (auto status = catalog_.write(known.manifest); !status) return status;
  // Without a manifest, the next vote strikes the snapshot.
  if (has_shards(head_.node, known.manifest.identity, *holding->own)) return {};
  return catalog_.retire(head_.node.dir(known.manifest.identity));
}

Result<std::uint64_t> RestoreDesk::read_safe_point(const Plan& plan) const {
  if (head_.ranks.empty()) return 0;
  const FileName name = names::shard(head_.node.dir(plan.snapshot), head_.ranks.front());
  const auto shard = ShardFile::open(*head_.node.local, name);
  if (!shard) return fail(shard.error());
  return shard->header().safe_point;
}

// Levels of redundancy of which some node has lost its part; when shards had to be moved, also those that no node has
// under today's layout.
LevelSet RestoreDesk::levels_to_rebuild(const Inventory& inventory, const Identity& snapshot, bool moved) const {
  const LayoutId layout = head_.node.layout.id();
  std::map<LevelId, std::size_t> parts;
  for (const auto& summaries : inventory.by_head) {
    for (const HoldingSummary& summary : summaries) {
      if (summary.snapshot != snapshot || summary.layout != layout) continue;
      for (const LevelId level : summary.levels) ++parts[level];
    }
  }
  for (const auto& [level, snapshots] : inventory.shared) {
    if (std::ranges::find(snapshots, snapshot) != snapshots.end()) parts[level] = head_.node.layout.nodes;
  }
  const std::string prefix = head_.node.dir(snapshot).path + "/";
  const bool struck =
      std::ranges::any_of(inventory.strikes, [&](const Strike& strike) { return strike.file.starts_with(prefix); });
  LevelSet due;
  const LevelSet rebuilt = head_.usable & head_.node.levels.that_are_rebuilt();
  for (const LevelId level : rebuilt) {
    const bool whole = parts[level] == head_.node.layout.nodes && !struck;
    if (!whole && (moved || struck || parts[level] > 0)) due.add(level);
  }
  return due;
}

}  // namespace cairn
