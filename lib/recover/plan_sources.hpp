// Where the shards of one snapshot can come from: which stores have them, which have copies, and what can be decoded
// from what. Everything is indexed by node, and what holds for a node is found out once for all its ranks, so that
// asking for every rank costs time about linear in ranks and holdings.
//
// Refers to inventory and indexes, which must outlive it. Pure, one thread: what was found out is kept.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/grouped.hpp"
#include "base/ids.hpp"
#include "level/level.hpp"
#include "recover/inventory.hpp"
#include "store/names.hpp"
#include "topology/layout_index.hpp"

namespace cairn {

// The layouts of an inventory turned around, each when it is first needed; for all snapshots.
using LayoutIndexes = std::map<LayoutId, LayoutIndex>;

class SnapshotSources {
 public:
  SnapshotSources(const Inventory& inventory, LayoutIndexes& indexes, const Identity& snapshot);

  // The newest layout that a store knows, and the L2 placement there; null: only the global store has the snapshot.
  [[nodiscard]] const Layout* layout() const { return parts_.empty() ? nullptr : &parts_.front().index->layout(); }
  [[nodiscard]] std::uint64_t turn() const { return turn_; }
  // Nodes of that layout that no store stands for.
  [[nodiscard]] std::vector<NodeId> lost_nodes() const;

  // The cheapest source of a rank's shard: a file in the store `to`, one elsewhere, a decode, the global store.
  // `levels`: what is worth looking at; what is not in it is no input of a decode either.
  [[nodiscard]] std::optional<Delivery> find(Rank rank, Peer to, LevelSet levels);

 private:
  using Chunks = std::vector<std::vector<Piece>>;  // as Delivery::chunks

  // A store with all shards of a node, its own or copies of them.
  struct Volume {
    Peer holder;
    bool copies = false;
  };
  // What the stores have under one layout; vectors are by node, stores ascending.
  struct Parts {
    LayoutId id;
    LayoutIndex* index = nullptr;
    std::vector<bool> present;                        // some store stands for the node
    Grouped<Peer> own;                                // stores with the node's own shards
    Grouped<Peer> copies;                             // stores with copies of the node's shards
    Grouped<Peer> parity;                             // stores with the node's parity
    std::map<NodeId, std::optional<Volume>> volumes;  // as far as they were asked for
    std::map<NodeId, std::optional<Chunks>> decodes;
    bool has_parity = false;
  };
  // Strikes in this snapshot's directories; the global store is Peer{Strike::kGlobal}.
  struct Struck {
    std::set<std::pair<Peer, Rank>> shards;
    std::set<std::pair<Peer, names::Copy>> copies;
    std::set<std::pair<Peer, names::Parity>> parity;
    bool global_manifest = false;
  };

  void note_strikes(const std::set<Strike>& strikes);
  void note_holding(const Inventory& inventory, LayoutIndexes& indexes, Peer head, const HoldingSummary& summary);
  [[nodiscard]] Parts& parts_of(const Inventory& inventory, LayoutIndexes& indexes, LayoutId id);

  [[nodiscard]] bool has_shard(Peer holder, Rank rank) const { return !struck_.shards.contains({holder, rank}); }
  [[nodiscard]] bool has_copy(const Parts& parts, Peer holder, NodeId owner, Rank rank) const {
    return !struck_.copies.contains({holder, {owner, rank, parts.id}});
  }
  void look_at(LevelSet levels);
  [[nodiscard]] std::optional<Delivery> best_file(Rank rank, Peer to, LevelSet levels) const;
  [[nodiscard]] std::optional<Volume> find_volume(const Parts& parts, NodeId node) const;
  [[nodiscard]] const std::optional<Volume>& volume_of(Parts& parts, NodeId node);
  [[nodiscard]] std::optional<Piece> parity_of(const Parts& parts, NodeId node, std::uint32_t column,
                                               std::uint32_t row) const;
  [[nodiscard]] std::optional<Chunks> find_decode(Parts& parts, NodeId owner);
  [[nodiscard]] std::optional<Delivery> decoding(Rank rank, Peer to);
  [[nodiscard]] std::optional<Delivery> from_global(Rank rank, Peer to) const;

  Identity snapshot_;
  std::vector<Parts> parts_;              // in the order in which holdings name layouts
  std::map<LayoutId, std::size_t> part_;  // position in parts_
  std::uint64_t turn_ = 0;
  LevelSet levels_;  // that volumes and decodes were found with
  Struck struck_;
  bool global_ = false;  // the global store has it
};

}  // namespace cairn
