// What a survey has found, snapshot by snapshot.
#include <algorithm>
#include <iterator>
#include <set>

#include "inspect/survey.hpp"
#include "store/names.hpp"

namespace cairn {
namespace {

// Nodes that hold a snapshot under one layout.
struct Holders {
  std::map<LevelId, std::set<NodeId>> at;  // nothing of it bad, nor of the own shards
  std::set<NodeId> any;
};

Holders holders_of(const Survey& survey, const Identity& snapshot, LayoutId layout) {
  const Levels& levels = survey.inventory.levels;
  Holders holders;
  for (const StoreId holder : survey.node_stores()) {
    const NodeManifest* manifest = find_manifest(survey, holder, snapshot);
    const Holding* holding = manifest != nullptr ? manifest->find(layout) : nullptr;
    if (holding == nullptr) continue;
    holders.any.insert(holding->node);
    LevelSet good = levels.held(*holding);
    for (const NamedFile& file : levels.files(*manifest)) {
      if (survey.inventory.struck(holder, file.name)) good.remove(file.level);
    }
    if (!good.has(levels.of_own_shards())) continue;
    for (const LevelId level : good) holders.at[level].insert(holding->node);
  }
  return holders;
}

// Keeps the one that got further.
void further(Reach& reach, std::size_t held, std::uint32_t of) {
  const auto now = static_cast<std::uint32_t>(held);
  if (reach.of == 0 || std::uint64_t{now} * reach.of > std::uint64_t{reach.held} * of) reach = {now, of};
}

std::uint64_t bytes_of_shards(const Survey& survey, const Identity& snapshot) {
  std::uint64_t sum = 0;
  for (const auto& [rank, shard] : entries_of(survey, snapshot)) sum += shard.bytes;
  return sum;
}

// For how many nodes a store of all nodes has the part, with nothing damaged in it.
std::uint32_t parts_held(const Survey& survey, StoreId store, const SharedSnapshot& snapshot) {
  const DirName dir = names::snapshot(snapshot.identity());
  if (survey.inventory.struck(store, names::manifest(dir))) return 0;
  std::uint32_t good = 0;
  for (std::uint32_t node = 0; node < snapshot.layout().nodes; ++node) {
    good += std::ranges::none_of(snapshot.layout().ranks_on(NodeId{node}),
                                 [&](Rank rank) { return survey.inventory.struck(store, names::shard(dir, rank)); });
  }
  return good;
}

SnapshotView view(const Survey& survey, const Identity& snapshot) {
  SnapshotView view{snapshot, {}, {}, {}, bytes_of_shards(survey, snapshot), {}};
  std::optional<LayoutId> newest;
  std::set<LayoutId> layouts;
  for (const StoreId holder : survey.node_stores()) {
    const NodeManifest* manifest = find_manifest(survey, holder, snapshot);
    if (manifest == nullptr) continue;
    view.notes.fill_from(manifest->notes);
    for (const Holding& holding : manifest->holdings) {
      layouts.insert(holding.layout.id());
      if (!newest) newest = holding.layout.id();
    }
  }
  bool whole = false;
  for (const LayoutId id : layouts) {
    const Layout& layout = survey.inventory.layouts.at(id);
    const Holders holders = holders_of(survey, snapshot, id);
    for (const auto& [level, nodes] : holders.at) further(view.levels[level], nodes.size(), layout.nodes);
    whole |= holders.any.size() == layout.nodes;
  }
  const auto& shared = survey.shared_of(snapshot);
  for (const auto& [level, there] : shared) view.notes.fill_from(there->notes());
  if (newest)
    view.layout = survey.inventory.layouts.at(*newest);
  else if (!shared.empty())
    view.layout = shared.begin()->second->layout();
  if (newest && !whole) {
    const Holders holders = holders_of(survey, snapshot, *newest);
    for (std::uint32_t node = 0; node < view.layout.nodes; ++node) {
      if (!holders.any.contains(NodeId{node})) view.absent.push_back(NodeId{node});
    }
  }
  for (const auto& [level, there] : shared) {
    const StoreId store = *survey.inventory.levels.at(level).traits().shared_store;
    view.levels[level] = {parts_held(survey, store, *there), there->layout().nodes};
  }
  return view;
}

// Each rank where its part is, so that a plan prefers the shard that is in place, as a restart on these nodes would.
Layout layout_by_store(const Survey& survey, const SnapshotView& snapshot) {
  Layout today = snapshot.layout;
  const LayoutId id = snapshot.layout.id();
  std::vector<NodeId> holder_of(today.nodes, NodeId{static_cast<std::uint32_t>(survey.by_store.size())});
  for (const StoreId holder : survey.node_stores()) {
    const NodeManifest* manifest = find_manifest(survey, holder, snapshot.identity);
    const Holding* holding = manifest != nullptr ? manifest->find(id) : nullptr;
    if (holding != nullptr) holder_of[holding->node.value] = NodeId{holder.head()};
  }
  for (NodeId& node : today.node_of_rank) node = holder_of[node.value];
  return today;
}

}  // namespace

std::map<Rank, ShardEntry> entries_of(const Survey& survey, const Identity& snapshot) {
  std::map<Rank, ShardEntry> entries;
  const auto take = [&](const std::vector<ShardEntry>& shards) {
    for (const ShardEntry& shard : shards) entries.insert_or_assign(shard.rank, shard);
  };
  for (const StoreId holder : survey.node_stores()) {
    const NodeManifest* manifest = find_manifest(survey, holder, snapshot);
    if (manifest == nullptr) continue;
    for (const Holding& holding : manifest->holdings) {
      if (holding.own) take(*holding.own);
      if (holding.partner) {
        for (const HeldCopies& held : holding.partner->held) take(held.shards);
      }
      if (holding.erasure) {
        for (const auto& member : holding.erasure->members) take(member);
      }
    }
  }
  for (const auto& [level, there] : survey.shared_of(snapshot)) take(there->shards());
  return entries;
}

std::vector<SnapshotView> view_snapshots(const Survey& survey) {
  std::vector<SnapshotView> views;
  for (const Identity& snapshot : survey.inventory.snapshots()) views.push_back(view(survey, snapshot));
  return views;
}

Recovery plan_recovery(const Survey& survey, const SnapshotView& snapshot) {
  // Only this snapshot, and only layouts of its ranks: those of others cannot be mixed in.
  Inventory inventory{{}, survey.inventory.layouts, {}, survey.inventory.strikes, survey.inventory.levels};
  const std::size_t ranks = snapshot.layout.node_of_rank.size();
  for (const auto& summaries : survey.inventory.by_head) {
    auto& mine = inventory.by_head.emplace_back();
    std::ranges::copy_if(summaries, std::back_inserter(mine), [&](const HoldingSummary& summary) {
      return summary.snapshot == snapshot.identity && inventory.layouts.at(summary.layout).node_of_rank.size() == ranks;
    });
  }
  for (const auto& [level, snapshots] : survey.inventory.shared) {
    if (std::ranges::find(snapshots, snapshot.identity) != snapshots.end())
      inventory.shared[level] = {snapshot.identity};
  }
  const Layout today = layout_by_store(survey, snapshot);
  auto one = make_plan_of({inventory, today, Incarnation{}, {}, {}, {}}, snapshot.identity);
  if (one.missing.empty()) return {true, std::move(one.plan.deliveries), {}};
  return {false, std::move(one.plan.deliveries), one.missing_text()};
}

}  // namespace cairn
