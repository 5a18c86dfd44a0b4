// A layout turned around: what its own functions find by searching is looked up here. For work on all ranks or all
// nodes at once; building it costs time linear in them. The layout must outlive it. Pure, one thread.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "topology/layout.hpp"

namespace cairn {

class LayoutIndex {
 public:
  explicit LayoutIndex(const Layout& layout);

  [[nodiscard]] const Layout& layout() const { return *layout_; }
  // As the functions of Layout, for nodes of the layout.
  [[nodiscard]] std::span<const Rank> ranks_on(NodeId node) const;
  [[nodiscard]] Layout::Place place_in_group(NodeId node) const { return places_[node.value]; }
  // owners_held_by(), for one placement of all nodes at once the first time.
  [[nodiscard]] const std::vector<NodeId>& owners_held_by(NodeId holder, std::uint64_t k);

 private:
  const Layout* layout_;
  std::vector<Rank> ranks_;         // node by node, ascending
  std::vector<std::size_t> first_;  // of each node in ranks_, and the end
  std::vector<Layout::Place> places_;
  std::map<std::uint64_t, std::vector<std::vector<NodeId>>> owners_;  // by placement, by holder
};

}  // namespace cairn
