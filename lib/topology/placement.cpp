#include "topology/placement.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include <fmt/format.h>

namespace cairn {
namespace {

std::uint64_t power(std::uint64_t base, std::uint64_t exponent) {
  std::uint64_t result = 1;
  for (std::uint64_t i = 0; i < exponent; ++i) result *= base;
  return result;
}

// Nodes sorted by domain; the domains with most of these nodes come first.
std::vector<NodeId> sorted_by_domain(std::vector<NodeId> nodes, const std::vector<std::uint32_t>& domain_of_node) {
  std::map<std::uint32_t, std::size_t> size;
  for (const auto node : nodes) ++size[domain_of_node[node.value]];
  std::stable_sort(nodes.begin(), nodes.end(), [&](NodeId a, NodeId b) {
    const auto domain_a = domain_of_node[a.value];
    const auto domain_b = domain_of_node[b.value];
    if (size[domain_a] != size[domain_b]) return size[domain_a] > size[domain_b];
    return domain_a < domain_b;
  });
  return nodes;
}

// Even places first, then odd ones: a domain that has at most half of the places never has two in a row.
std::vector<NodeId> spread(const std::vector<NodeId>& sorted) {
  std::vector<NodeId> out(sorted.size());
  std::size_t next = 0;
  for (std::size_t i = 0; i < out.size(); i += 2) out[i] = sorted[next++];
  for (std::size_t i = 1; i < out.size(); i += 2) out[i] = sorted[next++];
  return out;
}

}  // namespace

std::uint64_t partner_shift(std::uint32_t copies, std::uint32_t rotation, std::uint64_t turn, std::uint32_t j) {
  const auto place = turn % rotation;
  return j * power(copies, place) + place;
}

std::uint64_t sufficient_nodes(std::uint32_t copies, std::uint32_t rotation) {
  return power(copies, rotation) + rotation;
}

std::string placement_obstacle(std::uint32_t copies, std::uint32_t rotation, std::uint32_t nodes) {
  for (std::uint32_t place = 0; place < rotation; ++place) {
    std::map<std::uint64_t, std::uint32_t> copy_at;  // distance behind the owner → copy
    for (std::uint32_t j = 1; j <= copies; ++j) {
      const auto distance = partner_shift(copies, rotation, place, j) % nodes;
      if (distance == 0) return fmt::format("placement {} of {} puts copy {} on its owner", place + 1, rotation, j);
      const auto [other, is_free] = copy_at.try_emplace(distance, j);
      if (!is_free) {
        return fmt::format("placement {} of {} puts copies {} and {} on one node", place + 1, rotation, other->second,
                           j);
      }
    }
  }
  return {};
}

std::vector<std::vector<NodeId>> make_groups(std::uint32_t nodes, std::uint32_t group, std::uint32_t parity,
                                             const std::vector<std::uint32_t>& domain_of_node) {
  const auto count = (nodes + group - 1) / group;
  if (count == 0 || nodes / count < parity + 1) return {};

  std::vector<NodeId> order(nodes);
  for (std::uint32_t i = 0; i < nodes; ++i) order[i] = NodeId{i};
  std::vector<std::vector<NodeId>> groups(count);
  if (domain_of_node.empty()) {
    auto from = order.begin();
    for (std::uint32_t g = 0; g < count; ++g) {
      const auto size = nodes / count + (g < nodes % count ? 1 : 0);
      groups[g].assign(from, from + size);
      from += size;
    }
    return groups;
  }
  order = sorted_by_domain(std::move(order), domain_of_node);
  for (std::uint32_t i = 0; i < nodes; ++i) groups[i % count].push_back(order[i]);
  for (auto& members : groups) {
    std::sort(members.begin(), members.end());
    members = spread(sorted_by_domain(std::move(members), domain_of_node));
  }
  return groups;
}

}  // namespace cairn
