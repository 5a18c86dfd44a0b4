#include "recover/plan_sources.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace cairn {

SnapshotSources::SnapshotSources(const Inventory& inventory, LayoutIndexes& indexes, const Identity& snapshot)
    : levels_(inventory.levels),
      known_(inventory.levels, snapshot, inventory.strikes),
      there_(inventory.levels.in_node_stores()) {
  for (std::uint32_t head = 0; head < inventory.by_head.size(); ++head) {
    for (const HoldingSummary& summary : inventory.by_head[head]) {
      if (summary.snapshot != snapshot) continue;
      const auto index = indexes.try_emplace(summary.layout, inventory.layouts.at(summary.layout)).first;
      known_.note(Peer{head}, summary, index->second);
    }
  }
  known_.close();
  for (const auto& [level, snapshots] : inventory.shared) {
    const bool listed = std::ranges::find(snapshots, snapshot) != snapshots.end();
    if (listed && known_.has_manifest(*levels_.at(level).traits().shared_store)) there_.add(level);
  }
}

std::vector<NodeId> SnapshotSources::lost_nodes() const {
  std::vector<NodeId> lost;
  if (known_.parts().empty()) return lost;
  const std::vector<bool>& present = known_.parts().front().present;
  for (std::uint32_t node = 0; node < present.size(); ++node) {
    if (!present[node]) lost.push_back(NodeId{node});
  }
  return lost;
}

// Finders cache results for one set of levels, so another set needs new finders.
void SnapshotSources::look_at(LevelSet levels) {
  if (levels == known_.looked_at() && !finders_.empty()) return;
  known_.look_at(levels);
  finders_.clear();
  for (const LevelId level : there_)
    finders_.push_back({level, levels_.at(level).traits().effort, levels_.at(level).sources(known_)});
}

std::optional<Delivery> SnapshotSources::find(Rank rank, Peer to, LevelSet levels) {
  look_at(levels);
  for (const Effort effort : kEfforts) {
    if (auto delivery = find_with(effort, rank, to)) return delivery;
  }
  return {};
}

// Finding files costs nothing, so all levels with files are asked. The cheapest file is taken if at least one found
// file is of a level to search.
std::optional<Delivery> SnapshotSources::find_with(Effort effort, Rank rank, Peer to) {
  std::optional<SourceFinder::Found> best;
  Delivery delivery{.rank = rank, .to = to};
  bool worth_it = false;
  for (const Finder& one : finders_) {
    const bool looked_at = known_.looked_at().has(one.level);
    if (one.effort != effort || (effort != Effort::file && !looked_at)) continue;
    auto found = one.finder->find(rank, to);
    if (!found) continue;
    worth_it |= looked_at;
    if (best && std::tie(best->cost, best->holder) <= std::tie(found->cost, found->holder)) continue;
    best = std::move(found);
    delivery.level = one.level;
  }
  if (!worth_it) return {};
  delivery.source = std::move(best->source);
  return delivery;
}

}  // namespace cairn
