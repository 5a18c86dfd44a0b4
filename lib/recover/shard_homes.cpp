#include "recover/shard_homes.hpp"

#include <iterator>

#include "base/check.hpp"

namespace cairn {

ShardHomes::ShardHomes(const Layout& today, std::size_t old_ranks)
    : today_(today), old_ranks_(old_ranks), shards_(today.nodes) {
  for (std::uint32_t rank = 0; rank < today.node_of_rank.size(); ++rank) open_.insert(open_.end(), Rank{rank});
}

bool ShardHomes::has_ranks(Peer head) const {
  return head.value < shards_.size() && !today_.ranks_on(NodeId{head.value}).empty();
}

std::uint64_t ShardHomes::share_of(NodeId node) const {
  const std::uint64_t ranks = today_.layout().node_of_rank.size();
  return (today_.ranks_on(node).size() * old_ranks_ + ranks - 1) / ranks;
}

void ShardHomes::take(Peer head) {
  check(has_ranks(head));
  const NodeId node{head.value};
  if (++shards_[node.value] != share_of(node)) return;
  for (const Rank rank : today_.ranks_on(node)) open_.erase(rank);
}

Peer ShardHomes::near(Rank old) const {
  check(!open_.empty());
  const std::uint64_t ranks = today_.layout().node_of_rank.size();
  const Rank same_part{static_cast<std::uint32_t>((2 * std::uint64_t{old.value} + 1) * ranks / (2 * old_ranks_))};
  auto nearest = open_.lower_bound(same_part);
  if (nearest == open_.end() ||
      (nearest != open_.begin() && same_part.value - std::prev(nearest)->value <= nearest->value - same_part.value))
    --nearest;
  return Peer{today_.layout().node_of_rank[nearest->value].value};
}

}  // namespace cairn
