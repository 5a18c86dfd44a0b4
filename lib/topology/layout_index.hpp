// A layout turned around: what its own functions find by searching is looked up here. For work on all ranks or all
// nodes at once; building it costs time linear in them. The layout must outlive it. Pure, one thread.
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
  // As the functions of Layout, for nodes of the layout.
  [[nodiscard]] std::span<const Rank> ranks_on(NodeId node) const { return ranks_.of(node.value); }
  [[nodiscard]] Layout::GroupPlace place_in_group(NodeId node) const { return places_[node.value]; }
  // owners_held_by(), for one placement of all nodes at once the first time.
  [[nodiscard]] std::span<const NodeId> owners_held_by(NodeId holder, std::uint64_t k);

 private:
  const Layout* layout_;
  Grouped<Rank> ranks_;  // by node, ascending
  std::vector<Layout::GroupPlace> places_;
  std::map<std::uint64_t, Grouped<NodeId>> owners_;  // by placement, by holder
};

}  // namespace cairn
