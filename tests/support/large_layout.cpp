#include "support/large_layout.hpp"

#include <random>
#include <vector>

#include "support/head_cluster.hpp"
#include "topology/placement.hpp"

namespace cairn::test {

Layout large_layout(std::uint32_t nodes, std::uint32_t ranks_on_node) {
  Layout layout = layout_of_ranks(std::vector<std::uint32_t>(nodes, ranks_on_node));
  layout.copies = nodes > 1 ? 1 : 0;
  layout.groups = make_groups(nodes, 8, 2, {});
  layout.parity = layout.groups.empty() ? 0 : 2;
  return layout;
}

Inventory inventory_after(const Layout& layout, std::uint32_t snapshots, const std::set<std::uint32_t>& lost) {
  Inventory inventory;
  inventory.by_head.resize(layout.nodes);
  const LayoutId id = layout.id();
  inventory.layouts[id] = layout;
  for (std::uint32_t node = 0; node < layout.nodes; ++node) {
    if (lost.contains(node)) continue;
    for (std::uint32_t version = 1; version <= snapshots; ++version) {
      inventory.by_head[node].push_back(
          {{{1}, {version}, {77}}, id, NodeId{node}, {LevelId::local, LevelId::partner, LevelId::erasure}, 0});
    }
  }
  return inventory;
}

std::set<std::uint32_t> sample_nodes(std::uint32_t nodes, std::uint32_t count, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::set<std::uint32_t> sample;
  while (sample.size() < count) sample.insert(static_cast<std::uint32_t>(random() % nodes));
  return sample;
}

}  // namespace cairn::test
