// Chooses nodes for the shards of a snapshot of another number of ranks, so that little goes from node to node
// afterwards. Most programs give the elements to their ranks in order. Then the ranks that need the elements of old
// rank r are those at the same part of today's ranks.
//
// No node gets more shards than its ranks' part of all of them, rounded up, except those that lie there already. Pure.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "base/ids.hpp"
#include "topology/layout_index.hpp"

namespace cairn {

class ShardHomes {
 public:
  // Requires: `today` has ranks, and outlives this.
  ShardHomes(const Layout& today, std::size_t old_ranks);

  // Only such nodes get shards: those of others could not be read.
  [[nodiscard]] bool has_ranks(Peer head) const;
  // Notes that a shard goes there. Requires: has_ranks(head).
  void take(Peer head);
  // The node at the same part of today's ranks; if it has its part of the shards, the nearest that has room.
  // Requires: take() was called fewer times than there are old ranks.
  [[nodiscard]] Peer near(Rank old) const;

 private:
  // The ranks' part of all shards, rounded up.
  [[nodiscard]] std::uint64_t share_of(NodeId node) const;

  LayoutIndex today_;
  std::size_t old_ranks_;
  std::vector<std::uint64_t> shards_;  // by node
  std::set<Rank> open_;                // ranks whose nodes have room
};

}  // namespace cairn
