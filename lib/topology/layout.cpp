#include "topology/layout.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/sha256.hpp"
#include "topology/placement.hpp"

namespace cairn {
namespace {

constexpr std::uint32_t kLastArrangement = 1U << 31U;  // far above any possible number of restarts

bool contains(const std::vector<NodeId>& nodes, NodeId node) {
  return std::find(nodes.begin(), nodes.end(), node) != nodes.end();
}

// What speaks against a node as a holder of the owner's copies; 0: nothing. A sick node is likely to be lost.
int drawbacks(const Layout& layout, NodeId owner, NodeId node) {
  const auto& domains = layout.domain_of_node;
  const bool same_domain = !domains.empty() && domains[node.value] == domains[owner.value];
  return (layout.avoids(node) ? 2 : 0) + (same_domain ? 1 : 0);
}

// Of `from` and the nodes behind it that hold no copy of the owner's yet, the first of those with the fewest drawbacks.
NodeId best_behind(const Layout& layout, NodeId owner, NodeId from, const std::vector<NodeId>& taken) {
  NodeId best = from;
  int least = drawbacks(layout, owner, from);
  for (std::uint32_t step = 1; step < layout.nodes && least > 0; ++step) {
    const NodeId node{(from.value + step) % layout.nodes};
    if (node == owner || contains(taken, node)) continue;
    if (const int against = drawbacks(layout, owner, node); against < least) {
      least = against;
      best = node;
    }
  }
  return best;
}

Status check_partners(const Layout& layout) {
  if (layout.copies > kMaxCopies || layout.rotation < 1 || layout.rotation > kMaxRotation) {
    return fail(Code::corrupt, fmt::format("copies = {}, rotation = {}; should be 0 to {} and 1 to {}", layout.copies,
                                           layout.rotation, kMaxCopies, kMaxRotation));
  }
  const auto obstacle = placement_obstacle(layout.copies, layout.rotation, layout.nodes);
  if (!obstacle.empty()) return fail(Code::corrupt, fmt::format("{} nodes: {}", layout.nodes, obstacle));
  return {};
}

Status check_groups(const Layout& layout) {
  if (layout.groups.empty()) return {};
  if (layout.parity < 1) return fail(Code::corrupt, "there are groups, but parity = 0, should be at least 1");
  std::vector<bool> seen(layout.nodes);
  std::size_t members = 0;
  for (std::size_t group = 0; group < layout.groups.size(); ++group) {
    const auto size = layout.groups[group].size();
    if (size <= layout.parity || size > kMaxGroup) {
      return fail(Code::corrupt, fmt::format("group {} has {} members, should have {} to {}", group, size,
                                             std::uint64_t{layout.parity} + 1, kMaxGroup));
    }
    for (const auto node : layout.groups[group]) {
      if (seen[node.value]) return fail(Code::corrupt, fmt::format("node {} is in the groups twice", node.value));
      seen[node.value] = true;
    }
    members += size;
  }
  if (members != layout.nodes) {
    return fail(Code::corrupt, fmt::format("only {} of {} nodes are in groups", members, layout.nodes));
  }
  return {};
}

Status check_avoided(const Layout& layout) {
  for (std::size_t i = 0; i < layout.avoided.size(); ++i) {
    const NodeId node = layout.avoided[i];
    if (node.value >= layout.nodes) {
      return fail(Code::corrupt, fmt::format("node {} is avoided, should be below {}", node.value, layout.nodes));
    }
    if (i > 0 && node <= layout.avoided[i - 1]) {
      return fail(Code::corrupt, fmt::format("node {} is avoided after node {}, should be in ascending order",
                                             node.value, layout.avoided[i - 1].value));
    }
  }
  for (std::size_t group = 0; group < layout.groups.size(); ++group) {
    const auto& members = layout.groups[group];
    if (!std::ranges::is_partitioned(members, [&](NodeId node) { return !layout.avoids(node); })) {
      return fail(Code::corrupt, fmt::format("group {} has avoided nodes before others, should have them last", group));
    }
  }
  return {};
}

}  // namespace

LayoutId Layout::id() const {
  const auto digest = sha256(encode(*this));
  return LayoutId{ByteReader(digest.bytes).get<std::uint32_t>()};
}

Layout Layout::shape() const {
  Layout shape = *this;
  shape.arrangement = 0;
  shape.avoided.clear();
  for (auto& members : shape.groups) std::ranges::sort(members);
  return shape;
}

bool Layout::equals_but_for_arrangement(Layout other) const {
  other.arrangement = arrangement;
  return *this == other;
}

std::vector<Rank> Layout::ranks_on(NodeId node) const {
  std::vector<Rank> ranks;
  for (std::size_t rank = 0; rank < node_of_rank.size(); ++rank) {
    if (node_of_rank[rank] == node) ranks.push_back(Rank{static_cast<std::uint32_t>(rank)});
  }
  return ranks;
}

Layout::GroupPlace Layout::place_in_group(NodeId node) const {
  for (std::uint32_t group = 0; group < groups.size(); ++group) {
    const auto& members = groups[group];
    const auto found = std::find(members.begin(), members.end(), node);
    if (found != members.end()) return GroupPlace{group, static_cast<std::uint32_t>(found - members.begin())};
  }
  return GroupPlace{static_cast<std::uint32_t>(groups.size()), 0};
}

bool Layout::avoids(NodeId node) const { return std::ranges::binary_search(avoided, node); }

ErasureShape Layout::shape_of(std::uint32_t group) const {
  const auto& members = groups[group];
  const auto n = static_cast<std::uint32_t>(members.size());
  const auto sick = std::ranges::count_if(members, [this](NodeId node) { return avoids(node); });
  return {n, parity, std::min(static_cast<std::uint32_t>(sick), n - parity - 1)};
}

Status check(const Layout& layout) {
  if (layout.nodes == 0) return fail(Code::corrupt, "0 nodes, should be 1 or more");
  if (layout.arrangement > kLastArrangement) {
    return fail(Code::corrupt,
                fmt::format("arrangement is {}, should be at most {}", layout.arrangement, kLastArrangement));
  }
  return check_partners(layout).and_then([&] { return check_groups(layout); }).and_then([&] {
    return check_avoided(layout);
  });
}

std::vector<NodeId> partners_of(const Layout& layout, NodeId owner, std::uint64_t turn) {
  std::vector<NodeId> partners;
  for (std::uint32_t j = 1; j <= layout.copies; ++j) {
    const auto at = owner.value + partner_shift(layout.copies, layout.rotation, turn, j);
    partners.push_back(NodeId{static_cast<std::uint32_t>(at % layout.nodes)});
  }
  if (layout.domain_of_node.empty() && layout.avoided.empty()) return partners;

  // `partners` always lists all places that are taken, moved or not: a moved copy must not take the place of a later
  // one.
  for (auto& partner : partners) partner = best_behind(layout, owner, partner, partners);
  return partners;
}

std::vector<NodeId> owners_held_by(const Layout& layout, NodeId holder, std::uint64_t turn) {
  std::vector<NodeId> owners;
  if (layout.domain_of_node.empty() && layout.avoided.empty()) {
    for (std::uint32_t j = 1; j <= layout.copies; ++j) {
      const auto back = partner_shift(layout.copies, layout.rotation, turn, j) % layout.nodes;
      owners.push_back(NodeId{static_cast<std::uint32_t>((holder.value + layout.nodes - back) % layout.nodes)});
    }
    std::sort(owners.begin(), owners.end());
    return owners;
  }
  for (std::uint32_t i = 0; i < layout.nodes; ++i) {
    if (contains(partners_of(layout, NodeId{i}, turn), holder)) owners.push_back(NodeId{i});
  }
  return owners;
}

}  // namespace cairn
