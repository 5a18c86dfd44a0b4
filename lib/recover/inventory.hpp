// The inventory: what every store that a live process can open still holds. Each head reads the manifests of its
// own store; a compact summary goes round once.
//
// What it takes, with S snapshots kept: each head gives 8 bytes to a reduction and 4 + S/2 to an allgather, 64 in all
// for up to 100 snapshots (inventory_codec says how); one head broadcasts 28·S. A holding that the longest list has
// not, because a store is damaged, stale or another node's, adds 30 bytes for the head that has it. A layout other than
// today's is broadcast once. Strikes are gathered last: none, no bytes; else each by its file's name.
//
// None of this is needed where the roll call (recover/roll_call) has found that all stores hold the same.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/ids.hpp"
#include "base/log.hpp"
#include "comm/comm.hpp"
#include "format/manifest.hpp"
#include "level/level.hpp"
#include "recover/chain.hpp"
#include "recover/store_memory.hpp"
#include "recover/unreadable.hpp"

namespace cairn {

// At which levels a snapshot is complete, on all nodes of one layout; and at which it would be, but for files that are
// struck (Level::stands_on), or, at a level of redundancy, for nodes that have lost their part.
struct LevelsReached {
  LevelSet complete;
  LevelSet struck;
};

struct Inventory {
  std::vector<HoldingList> by_head;
  std::map<LayoutId, Layout> layouts;  // of all summaries
  SharedSnapshots shared;              // complete in stores of all nodes
  std::set<Strike> strikes;            // files named by manifests that are missing or bad
  Levels levels = make_levels();       // that the job has

  [[nodiscard]] bool struck(StoreId store, const FileName& file) const { return strikes.contains({store, file.path}); }
  // Newest first, none twice.
  [[nodiscard]] std::vector<Identity> snapshots() const;
  [[nodiscard]] std::map<Identity, LevelsReached> levels_reached() const;
  // The same for the node stores under one layout.
  [[nodiscard]] std::map<std::pair<Identity, LayoutId>, LevelsReached> levels_reached_by_layout() const;
};

// What a head found in its own store.
struct StoreContents {
  std::vector<NodeManifest> manifests;
  std::vector<Strike> strikes;         // files that a manifest names and that are not there, or of another length
  std::vector<DirName> orphans;        // snapshot directories without a manifest: never completed, or retired
  std::vector<FileName> unnamed;       // copies and parity that their manifest does not name: a promotion never ended
  std::optional<ChainMark> mark;       // whose these are; none where there is nothing
  bool mark_unknown = false;           // there is one, which cannot be read now
  std::vector<Unreadable> unreadable;  // snapshots whose manifest is there and cannot be read
  Version highest_version;
  Levels levels = make_levels();  // that the job has

  [[nodiscard]] HoldingList summaries() const;
};

// Lists the store, and reads what manifests `memory` does not recall; remembers them. One that cannot be read is
// logged. `sealer` is the job's, of no chain; `levels` those of the job. Local.
[[nodiscard]] Result<StoreContents> read_store(const Store& store, NodeId me, const Log& log, StoreMemory& memory,
                                               const Sealer& sealer, const Levels& levels = make_levels());

// Puts everyone's contents together; `known` is a layout that all heads have already. Collective.
[[nodiscard]] Result<Inventory> gather_inventory(Comm& heads, const StoreContents& mine, const Layout& known);

// The same where nothing but this is left to learn: every store holds `common`, each as its own node, or is one of
// `empty`, and nothing is struck. Communicates only to share layouts that some head has not. Collective.
[[nodiscard]] Result<Inventory> inventory_of_alike(Comm& heads, const StoreContents& mine, const Layout& known,
                                                   const HoldingList& common, const std::vector<bool>& empty);

// Makes what each found bad known to all. Returns whether anyone found anything new. Collective.
[[nodiscard]] Result<bool> share_strikes(Comm& heads, Inventory& inventory, const std::vector<Strike>& mine);

}  // namespace cairn
