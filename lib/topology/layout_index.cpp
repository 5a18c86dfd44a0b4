#include "topology/layout_index.hpp"

#include <algorithm>

namespace cairn {

LayoutIndex::LayoutIndex(const Layout& layout)
    : layout_(&layout), places_(layout.nodes, {static_cast<std::uint32_t>(layout.groups.size()), 0}) {
  ranks_.reserve(layout.node_of_rank.size());
  for (std::uint32_t rank = 0; rank < layout.node_of_rank.size(); ++rank) {
    ranks_.add(layout.node_of_rank[rank].value, Rank{rank});
  }
  ranks_.close(layout.nodes);
  for (std::uint32_t group = 0; group < layout.groups.size(); ++group) {
    for (std::uint32_t i = 0; i < layout.groups[group].size(); ++i) {
      places_[layout.groups[group][i].value] = {group, i};
    }
  }
}

std::span<const NodeId> LayoutIndex::owners_held_by(NodeId holder, std::uint64_t turn) {
  auto [it, is_new] = owners_.try_emplace(turn % std::max(1U, layout_->rotation));
  auto& by_holder = it->second;
  if (is_new) {
    by_holder.reserve(std::size_t{layout_->nodes} * layout_->copies);
    for (std::uint32_t owner = 0; owner < layout_->nodes; ++owner) {
      for (const NodeId partner : partners_of(*layout_, NodeId{owner}, turn)) {
        by_holder.add(partner.value, NodeId{owner});
      }
    }
    by_holder.close(layout_->nodes);
  }
  return by_holder.of(holder.value);
}

}  // namespace cairn
