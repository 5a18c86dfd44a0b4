#include "torture/cluster.hpp"

namespace cairn::torture {

std::vector<std::uint32_t> told_lost(const Turn& turn) {
  std::vector<std::uint32_t> nodes;
  if (!turn.life.told || turn.before == nullptr) return nodes;
  for (const std::uint32_t host : turn.lost) {
    if (const auto node = node_of(*turn.before, host)) nodes.push_back(*node);
  }
  return nodes;
}

}  // namespace cairn::torture
