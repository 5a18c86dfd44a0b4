// The inventory: the contents of every store that a live process can open. Each head reads the manifests of its own
// store; then the heads exchange compact summaries once.
//
// Cost, with S snapshots kept: each head gives 8 bytes to a reduction and 4 + S/2 to an allgather (inventory_codec).
// That is 64 bytes in all for up to 100 snapshots. One head broadcasts 28·S. A holding that is not in the longest list
// adds 30 bytes for the head that has it: its store is damaged, stale or another node's. A layout other than today's is
// broadcast once. Strikes are gathered last, each as its file's name; without strikes this takes no
// bytes.
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

// `complete`: levels at which a snapshot is complete, on all nodes of one layout. `struck`: levels at which it would be
// complete without struck files (Level::stands_on) or, at a level of redundancy, without lost parts of nodes.
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
  std::vector<Strike> strikes;         // files that a manifest names, but that are missing or of another length
  std::vector<DirName> orphans;        // snapshot directories without a manifest: never completed, or retired
  std::vector<FileName> unnamed;       // copies and parity that no manifest names: their promotion never ended
  bool has_brought = false;            // what a restore that died has brought (store/names)
  std::vector<Rank> with_files;        // ranks that have files of the application here (store/names)
  std::optional<ChainMark> mark;       // the chain of these snapshots; none if there are none
  bool mark_unknown = false;           // there is a mark, but it cannot be read now
  std::vector<Unreadable> unreadable;  // snapshots whose manifest exists but cannot be read
  Version highest_version;
  Levels levels = make_levels();  // that the job has

  [[nodiscard]] HoldingList summaries() const;
};

// Lists the store, and reads and remembers those manifests that `memory` does not have. One that cannot be read is
// logged. `sealer` is the job's, of no chain; `levels` those of the job. Local.
[[nodiscard]] Result<StoreContents> read_store(const Store& store, NodeId me, const Log& log, StoreMemory& memory,
                                               const Sealer& sealer, const Levels& levels = make_levels());

// Puts the contents of all heads' stores together; `known` is a layout that all heads have already. Collective.
[[nodiscard]] Result<Inventory> gather_inventory(Comm& heads, const StoreContents& mine, const Layout& known);

// The same if the contents are known already: every store either holds `common` for its own node, or is one of `empty`;
// no file is struck. Communicates only to share layouts that some head does not have. Collective.
[[nodiscard]] Result<Inventory> inventory_of_alike(Comm& heads, const StoreContents& mine, const Layout& known,
                                                   const HoldingList& common, const std::vector<bool>& empty);

// Tells all heads which files each head found bad. Returns whether any of them is new. Collective.
[[nodiscard]] Result<bool> share_strikes(Comm& heads, Inventory& inventory, const std::vector<Strike>& mine);

}  // namespace cairn
