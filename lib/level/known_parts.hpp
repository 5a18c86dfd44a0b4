// What is known about one snapshot: which stores have what under which layout, and which files are struck. Levels use
// it to find the sources of shards. Everything is indexed by node, so that a search for every rank takes time about
// linear in ranks and holdings.
//
// First note() all holdings, then close(), then read. Refers to layouts, which must outlive it. Pure, one thread.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "base/grouped.hpp"
#include "base/ids.hpp"
#include "level/holding_summary.hpp"
#include "level/levels.hpp"
#include "level/strike.hpp"
#include "store/names.hpp"
#include "topology/layout_index.hpp"

namespace cairn {

class KnownParts {
 public:
  // The stores that have one kind of file, by the node that the files belong to; ascending.
  struct Stores {
    Grouped<Peer> of_node;
    LevelSet by;  // the levels that the files belong to
    void add(LevelId level, NodeId node, Peer head) {
      of_node.add(node.value, head);
      by.add(level);
    }
    [[nodiscard]] std::span<const Peer> of(NodeId node) const { return of_node.of(node.value); }
  };
  // What there is under one layout.
  struct Parts {
    LayoutId id;
    LayoutIndex* index = nullptr;
    std::vector<bool> present;  // by node: whether some store has this node's part
    Stores own;                 // the node's own shards
    Stores copies;              // copies of the node's shards
    Stores parity;              // the node's parity
  };

  KnownParts(const Levels& levels, const Identity& snapshot, const std::set<Strike>& strikes);
  void note(Peer head, const HoldingSummary& summary, LayoutIndex& index);
  void close();
  // The levels to search. Files of other levels are not used as inputs of a decode either.
  void look_at(LevelSet levels) { looked_at_ = levels; }

  // In the order in which holdings name layouts, the newest first; and by id.
  [[nodiscard]] const std::vector<Parts>& parts() const { return parts_; }
  [[nodiscard]] const std::map<LayoutId, std::size_t>& positions() const { return positions_; }
  [[nodiscard]] bool is_worth_it(const Stores& stores) const { return !(stores.by & looked_at_).empty(); }
  [[nodiscard]] LevelSet looked_at() const { return looked_at_; }
  // The placement under the newest layout.
  [[nodiscard]] std::uint64_t turn() const { return turn_; }

  // Whether the file that a store should have is not struck.
  [[nodiscard]] bool has_shard(StoreId store, Rank rank) const { return !shards_.contains({store, rank}); }
  [[nodiscard]] bool has_copy(StoreId store, const names::Copy& copy) const { return !copies_.contains({store, copy}); }
  [[nodiscard]] bool has_parity(StoreId store, const names::Parity& parity) const {
    return !parity_.contains({store, parity});
  }
  [[nodiscard]] bool has_manifest(StoreId store) const { return !manifests_.contains(store); }

 private:
  void note_strikes(const std::set<Strike>& strikes);

  const Levels& levels_;
  Identity snapshot_;
  std::vector<Parts> parts_;
  std::map<LayoutId, std::size_t> positions_;
  std::uint64_t turn_ = 0;
  LevelSet looked_at_ = LevelSet::all();
  // The struck files.
  std::set<std::pair<StoreId, Rank>> shards_;
  std::set<std::pair<StoreId, names::Copy>> copies_;
  std::set<std::pair<StoreId, names::Parity>> parity_;
  std::set<StoreId> manifests_;
};

}  // namespace cairn
