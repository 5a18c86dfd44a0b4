// Layouts for tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "topology/layout.hpp"

namespace cairn::testing_support {

// One rank a node, no groups.
inline Layout layout_of(std::uint32_t nodes, std::uint32_t copies, std::uint32_t rotation,
                        std::vector<std::uint32_t> domains = {}) {
  Layout layout;
  layout.nodes = nodes;
  for (std::uint32_t i = 0; i < nodes; ++i) layout.node_of_rank.push_back(NodeId{i});
  layout.copies = copies;
  layout.rotation = rotation;
  layout.domain_of_node = std::move(domains);
  return layout;
}

inline std::vector<std::size_t> sizes_of(const std::vector<std::vector<NodeId>>& groups) {
  std::vector<std::size_t> sizes;
  for (const auto& group : groups) sizes.push_back(group.size());
  return sizes;
}

}  // namespace cairn::testing_support
