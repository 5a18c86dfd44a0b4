// The catalog: what a head knows about every snapshot, what else is in its stores, and which of it to keep. The
// catalogs of all heads agree on which snapshots exist and at which levels each is complete; each node has manifests of
// its own.
//
// A job removes snapshots here and nowhere else: manifest first, so that a crash in between leaves nothing that counts.
// Only a successful vote of all heads is a reason to remove one. For a job that does not run, ckpt-tool removes them
// (inspect/removal).
//
// One thread, the head's. Local: no call communicates.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/ids.hpp"
#include "level/level.hpp"
#include "recover/chain.hpp"
#include "recover/destinations.hpp"
#include "recover/inventory.hpp"
#include "recover/retention.hpp"
#include "recover/retrieve.hpp"
#include "recover/store_memory.hpp"

namespace cairn {

// A snapshot with a manifest in this node's store, or none yet (then only others hold it).
struct Known {
  NodeManifest manifest;
  LevelSet complete;
  LevelSet struck;              // it would be complete there, but files were found bad
  LevelSet today;               // of the complete ones, those by today's layout alone; for a restored snapshot
  LevelSet due;                 // promotions that are still to come
  LevelSet asked;               // all promotions that were due when it was sealed in this life
  LevelSet rebuilt;             // of a restored snapshot: the promotions that rebuild what was lost
  bool rebuild_failed = false;  // one of `rebuilt` failed
  bool in_flight = false;       // being sealed, or promoted to a level
  bool lost = false;            // a node has lost its part of it, and all heads know
  std::optional<std::chrono::seconds> sealed;  // since 1970; none: in an earlier life
  std::map<Rank, Destinations> destinations;   // of files of this node's ranks
  std::optional<std::uint64_t> turn;           // its placement at the level that takes turns, if it has one already

  // Its good files stay sources, but it is no longer complete at these levels.
  void strike(LevelSet levels);
};

struct Catalog {
  Catalog(const NodeContext& node_context, std::shared_ptr<StoreMemory> store_memory, const KeepCounts& kept);

  // What is in this node's store now. `sealer` is the job's, of no chain.
  [[nodiscard]] Result<StoreContents> look(const Sealer& sealer) const;
  // The same, which is kept.
  [[nodiscard]] Status read(const Sealer& sealer);
  // Adds to an inventory what has reached stores of all nodes in this life.
  void add_shared(Inventory& inventory) const;
  // Starts again from an inventory, which is the same on all heads. What is known about the global store stays.
  void take(Inventory& inventory);

  // Snapshots that the job's branch does not have will never be its state, so no other is retired in their favour. The
  // same holds for those that were rejected.
  void strike_abandoned();
  // The program cannot use that snapshot. The same on all heads.
  void reject(const Identity& snapshot);
  // By this life or an earlier one.
  [[nodiscard]] bool is_rejected(const Identity& snapshot) const {
    return rejected.contains(snapshot) || chain.branch.has_rejected(snapshot);
  }
  // A rank of this node reads a snapshot, or does so no more: while one reads it, its files stay in this node's store,
  // and hold no slot.
  void hold(Rank rank, const Identity& snapshot) { held_.emplace(snapshot, rank); }
  void release(Rank rank, const Identity& snapshot);
  void release_all(Rank rank);

  // Writes a manifest of this node's store, and remembers it.
  [[nodiscard]] Status write(const NodeManifest& manifest);
  // The inverse: removes a snapshot from this node's store. A snapshot whose manifest is there but cannot be read
  // stays.
  [[nodiscard]] Status retire(const DirName& dir);
  // Retires the snapshots beyond the number to keep: in this node's store and, on head 0, in shared stores. Returns the
  // versions whose slots are free.
  [[nodiscard]] std::vector<Version> retire_old();
  // A version of this life holds one slot of each rank from the time it is sealed until it is retired, lost or struck.
  // After that no newer snapshot waits for it. take_free_slots() returns each version that no longer holds a slot,
  // once.
  void hold_slot(Version version) { slots_.insert(version); }
  [[nodiscard]] std::vector<Version> take_free_slots(const std::vector<Identity>& retired = {});
  // Retires directories without a manifest: snapshots that an earlier life never completed.
  void retire_orphans();
  // Retires damaged snapshots, once a newer one is complete at all its levels. Keeps files of a newer Cairn or of
  // another key, because this job cannot judge them (recover/unreadable).
  void retire_damaged(const Known& newer);
  // Drops the redundancy that a restored snapshot has by an earlier layout, if all nodes have it by today's.
  void drop_old_layouts(Known& snapshot);

  // Ranks whose shards in this node's store are damaged. Logs each of them.
  [[nodiscard]] std::vector<Rank> find_damaged(const Identity& snapshot, const std::vector<ShardEntry>& shards) const;
  // The versions that this node's store had and has lost, and whether it has lost its mark.
  struct Losses {
    std::vector<Version> versions;
    bool mark = false;
  };
  [[nodiscard]] Losses look_for_losses() const;

  // What holds between any two calls.
  void check_invariants() const;

  const NodeContext& node;
  std::shared_ptr<StoreMemory> memory;
  KeepCounts keeps;
  StoreContents contents;  // of this node's store, as it was read last
  Chain chain;             // as read from the global store
  std::map<Identity, Known> known;
  std::optional<Identity> state;  // the job's state: the snapshot that was sealed or restored last
  // A snapshot of another number of ranks, which was restored, and which no snapshot of this number has replaced yet.
  std::optional<Identity> of_other_ranks;
  std::set<Identity> rejected;             // in this life
  std::optional<RetrieveState> retrieval;  // until the first snapshot is sealed after the inventory was taken

 private:
  [[nodiscard]] Status drop_old(Known& snapshot, LayoutId layout);
  [[nodiscard]] std::vector<KnownSnapshot> all_known() const;
  void retire_at(LevelId level, const Identity& id);
  [[nodiscard]] LevelSet shared_levels_of(const Known& one) const;
  void warn(const Status& status) const;
  // What the snapshots in this node's store take, by kind, for the trace.
  void trace_space() const;

  [[nodiscard]] bool is_held(const Identity& snapshot) const;

  std::set<Version> slots_;
  std::multiset<std::pair<Identity, Rank>> held_;
};

}  // namespace cairn
