// Where the shards of one snapshot can come from, by an inventory: what the levels find (level/source_finder), the
// cheapest first. Asking for every rank costs time about linear in ranks and holdings.
//
// Refers to inventory and indexes, which must outlive it. Pure, but for one thread only: it caches what it has found.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "base/ids.hpp"
#include "level/level.hpp"
#include "recover/inventory.hpp"
#include "topology/layout_index.hpp"

namespace cairn {

// The indexes of an inventory's layouts, each made when it is first needed; for all snapshots.
using LayoutIndexes = std::map<LayoutId, LayoutIndex>;

class SnapshotSources {
 public:
  SnapshotSources(const Inventory& inventory, LayoutIndexes& indexes, const Identity& snapshot);

  // The newest layout that a store knows, and the placement there; null: only stores of all nodes have the snapshot.
  [[nodiscard]] const Layout* layout() const {
    return known_.parts().empty() ? nullptr : &known_.parts().front().index->layout();
  }
  [[nodiscard]] std::uint64_t turn() const { return known_.turn(); }
  // Nodes of that layout whose part no store has.
  [[nodiscard]] std::vector<NodeId> lost_nodes() const;

  // The cheapest source of a rank's shard: a file in the store `to`, one elsewhere, a decode, a store of all nodes.
  // `levels`: the levels to search; files of other levels are not used as inputs of a decode either.
  [[nodiscard]] std::optional<Delivery> find(Rank rank, Peer to, LevelSet levels);

 private:
  struct Finder {
    LevelId level;
    Effort effort;
    std::unique_ptr<SourceFinder> finder;
  };
  void look_at(LevelSet levels);
  [[nodiscard]] std::optional<Delivery> find_with(Effort effort, Rank rank, Peer to);

  const Levels& levels_;
  KnownParts known_;
  LevelSet there_;               // levels that have anything to find
  std::vector<Finder> finders_;  // by level
};

}  // namespace cairn
