// An index of a layout: what the layout's own functions search for is looked up here. For work on all ranks or all
// nodes at once; building it takes time linear in them. The layout must outlive it. Pure, one thread.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "base/grouped.hpp"
#include "topology/layout.hpp"

namespace cairn {

class LayoutIndex {
 public:
  explicit LayoutIndex(const Layout& layout);

  [[nodiscard]] const Layout& layout() const { return *layout_; }
  // The same as the functions of Layout; `node` must be in the layout.
  [[nodiscard]] std::span<const Rank> ranks_on(NodeId node) const { return ranks_.of(node.value); }
  [[nodiscard]] Layout::GroupPlace place_in_group(NodeId node) const { return places_[node.value]; }
  // The same as owners_held_by(). The first call for a placement computes it for all nodes at once.
  [[nodiscard]] std::span<const NodeId> owners_held_by(NodeId holder, std::uint64_t turn);

 private:
  const Layout* layout_;
  Grouped<Rank> ranks_;  // by node, ascending
  std::vector<Layout::GroupPlace> places_;
  std::map<std::uint64_t, Grouped<NodeId>> owners_;  // by placement, by holder
};

}  // namespace cairn
