// The catalog: what a head knows of every snapshot, what lies in its stores besides, and what is kept of both. The
// heads' catalogs agree on which snapshots there are and where each is complete; manifests are each node's own.
//
// Snapshots are removed here and nowhere else: manifest first, so that a crash in between leaves nothing that counts.
// Only a vote of all heads that went well is a reason to.
//
// One thread, the head's. Local: no call communicates.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "base/error.hpp"
#include "base/ids.hpp"
#include "level/level.hpp"
#include "recover/chain.hpp"
#include "recover/inventory.hpp"
#include "recover/retention.hpp"
#include "recover/retrieve.hpp"
#include "recover/store_memory.hpp"

namespace cairn {

// A snapshot with a manifest in this node's store, or none yet (then only others hold it).
struct Known {
  NodeManifest manifest;
  LevelSet complete;
  LevelSet struck;                    // it would be complete there but for files that were found bad
  LevelSet today;                     // of those complete, by today's layout alone; once restored
  LevelSet due;                       // promotions to come
  LevelSet asked;                     // all that were to come when it was sealed in this life
  LevelSet rebuilt;                   // those of them that rebuild what was lost
  bool rebuild_failed = false;        // of one of those
  bool in_flight = false;             // being sealed, or raised to a level
  bool lost = false;                  // a node has lost its part of it, and all heads know
  std::optional<std::uint64_t> turn;  // placement that it has already, of the level that takes turns

  // What is sound of it stays a source, but it is no longer complete at these levels.
  void strike(LevelSet levels);
};

struct Catalog {
  Catalog(const NodeContext& node_context, std::shared_ptr<StoreMemory> store_memory, const KeepCounts& kept);

  // Looks into this node's store. `sealer` is the job's, of no chain.
  [[nodiscard]] Status read(const Sealer& sealer);
  // Begins anew with what all heads have learned that there is; what is known of the global store stays.
  void take(Inventory& inventory);

  // Writes a manifest of this node's store, and remembers it.
  [[nodiscard]] Status keep(const NodeManifest& manifest);
  // Its inverse: removes a snapshot from this node's store. One that cannot be read stays.
  [[nodiscard]] Status retire(const DirName& dir);
  // Retires what is beyond what is to be kept, here and, on head 0, in stores of all nodes. Returns whose slots are
  // free.
  [[nodiscard]] std::vector<Version> retire_old();
  // A version of this life holds a slot, of each rank, from when it is sealed until it is retired, lost or struck: then
  // nothing newer need wait for it. Returns those that hold none any more, once.
  void hold_slot(Version version) { slots_.insert(version); }
  [[nodiscard]] std::vector<Version> take_free_slots(const std::vector<Identity>& retired = {});
  // Directories that no manifest stands for: snapshots that an earlier life never completed.
  void retire_orphans();
  // Snapshots that are there and are damaged, once one that is newer is complete at all its levels. What a newer Cairn
  // wrote, or one with another key, is not ours to judge.
  void retire_damaged(const Known& newer);
  // Redundancy of a restored snapshot by an earlier layout, where all nodes have it by today's.
  void drop_old_layouts(Known& snapshot);

  // Ranks whose shards in this node's store are not what they should be, each of which is logged.
  [[nodiscard]] std::vector<Rank> find_damaged(const Identity& snapshot, const std::vector<ShardEntry>& shards) const;
  // Versions that this node's store had, and has no longer; also whether it has lost its mark.
  struct Losses {
    std::vector<Version> versions;
    bool mark = false;
  };
  [[nodiscard]] Losses look_for_losses() const;

  const NodeContext& node;
  std::shared_ptr<StoreMemory> memory;
  KeepCounts keeps;
  StoreContents contents;  // of this node's store, as it was read last
  Chain chain;             // what the global store says
  std::map<Identity, Known> known;
  std::optional<Identity> state;           // the job's: the snapshot sealed or restored last
  std::optional<RetrieveState> retrieval;  // while nothing is sealed after the inventory was taken

 private:
  [[nodiscard]] Status drop_old(Known& snapshot, LayoutId layout);
  [[nodiscard]] std::vector<KnownSnapshot> all_known() const;
  void retire_at(LevelId level, const Identity& id);
  [[nodiscard]] LevelSet shared_levels_of(const Known& one) const;
  void warn(const Status& status) const;

  std::set<Version> slots_;
};

}  // namespace cairn
