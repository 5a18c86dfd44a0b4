// The roll call: one reduction of fixed size, with which heads begin a life. It determines whether all of them can
// begin, which numbers are used, and, nearly always, the contents of all stores. After most failures, each remaining
// store holds its own node's part of the same snapshots, and the failure topology names the lost stores. Then every
// head knows the whole inventory, even a head with a new store, and no more messages are needed.
//
// 592 bytes for any number of nodes and snapshots. If stores differ, hold too much for it, or contradict the failure
// topology, only this fact is known afterwards. Then the inventory must be gathered (recover/inventory).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/error.hpp"
#include "base/ids.hpp"
#include "comm/comm.hpp"
#include "recover/chain.hpp"
#include "recover/inventory.hpp"

namespace cairn {

struct RollCall {
  Incarnation newest;  // life, version and L2 placement: the highest that any store has seen, the global one included
  Version highest_version;
  std::uint64_t turns = 0;    // 1 + the highest placement
  bool any_holdings = false;  // some store holds something
  // What every store holds that is not empty, head i's store as node i, with nothing struck; none: the stores differ.
  std::optional<HoldingList> common;
  bool unreadable = false;        // some store has files that cannot be read
  RunId chain;                    // the chain of the stores with snapshots, the highest id; 0: no store says one
  bool one_chain = true;          // all stores that say a chain say the same one
  bool mark_unknown = false;      // some store may belong to another chain: its mark cannot be read now
  Version newest_readable;        // the highest version with a readable manifest
  std::uint32_t arrangement = 0;  // of today's shape (topology/layout): one in which no store was another node than now
  // The empty stores are exactly those that the failure topology names as lost, and it is the same on all heads.
  bool as_expected = false;
};

// In which arrangements of a shape (Layout::shape) a store was the same node as now, and in which it was another one: 1
// + the highest number; 0: in none. Heads reduce both by maximum.
struct PlacesOfShape {
  Layout shape = {};
  std::uint64_t same = 0;
  std::uint64_t other = 0;

  // `me`: the node of the store that has the manifest.
  void note(const NodeManifest& manifest, NodeId me);
  // One in which no store was another node than now.
  [[nodiscard]] std::uint32_t arrangement() const {
    return static_cast<std::uint32_t>(other >= same ? other : same - 1);
  }
};

// What one head contributes.
struct RollAnswer {
  Status status;
  const StoreContents& contents;
  const Chain& chain;  // what this head has read of it itself
  const std::vector<std::uint32_t>& lost_nodes;
  const Layout* shape = nullptr;  // a layout of today's shape; null: there is none
};

// Fails on all heads where one has failed, as agree() does. Collective.
[[nodiscard]] Result<RollCall> call_roll(Comm& heads, const RollAnswer& mine);

}  // namespace cairn
