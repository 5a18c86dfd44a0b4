#include "topology/layout_index.hpp"

#include <algorithm>

namespace cairn {

LayoutIndex::LayoutIndex(const Layout& layout)
    : layout_(&layout),
      ranks_(layout.node_of_rank.size()),
      first_(std::size_t{layout.nodes} + 1),
      places_(layout.nodes, {static_cast<std::uint32_t>(layout.groups.size()), 0}) {
  for (const NodeId node : layout.node_of_rank) ++first_[node.value + std::size_t{1}];
  for (std::uint32_t node = 0; node < layout.nodes; ++node) first_[node + std::size_t{1}] += first_[node];
  std::vector<std::size_t> next = first_;
  for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank) {
    ranks_[next[layout.node_of_rank[rank].value]++] = Rank{rank};
  }
  for (std::uint32_t group = 0; group < layout.groups.size(); ++group) {
    for (std::uint32_t i = 0; i < layout.groups[group].size(); ++i) {
      places_[layout.groups[group][i].value] = {group, i};
    }
  }
}

std::span<const Rank> LayoutIndex::ranks_on(NodeId node) const {
  const std::size_t first = first_[node.value];
  return std::span(ranks_).subspan(first, first_[node.value + std::size_t{1}] - first);
}

const std::vector<NodeId>& LayoutIndex::owners_held_by(NodeId holder, std::uint64_t k) {
  auto [it, is_new] = owners_.try_emplace(k % std::max(1U, layout_->rotation));
  auto& by_holder = it->second;
  if (is_new) {
    by_holder.resize(layout_->nodes);
    for (std::uint32_t owner = 0; owner < layout_->nodes; ++owner) {
      for (const NodeId partner : partners_of(*layout_, NodeId{owner}, k)) {
        by_holder[partner.value].push_back(NodeId{owner});
      }
    }
  }
  return by_holder[holder.value];
}

}  // namespace cairn
