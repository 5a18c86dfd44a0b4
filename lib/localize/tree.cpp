#include "localize/tree.hpp"

#include <algorithm>
#include <utility>

namespace cairn::localize {
Tree::Tree(std::vector<NodeId> nodes, std::uint32_t fanout) : fanout_(fanout) {
  std::map<NodeId, std::size_t> places;
  for (std::size_t place = 0; place < nodes.size(); ++place) places.emplace(nodes[place], place);
  nodes_ = std::make_shared<const std::vector<NodeId>>(std::move(nodes));
  places_ = std::make_shared<const std::map<NodeId, std::size_t>>(std::move(places));
}

std::optional<std::size_t> Tree::place(NodeId node) const {
  const auto found = places_->find(node);
  return found == places_->end() ? std::nullopt : std::optional(found->second);
}

std::optional<NodeId> Tree::parent(NodeId node) const {
  const auto found = places_->find(node);
  if (found == places_->end() || found->second == 0) return std::nullopt;
  return (*nodes_)[(found->second - 1) / fanout_];
}

std::vector<NodeId> Tree::children(NodeId node) const {
  const auto found = places_->find(node);
  if (found == places_->end()) return {};
  const std::size_t begin = std::min(found->second * fanout_ + 1, nodes_->size());
  const std::size_t end = std::min(begin + fanout_, nodes_->size());
  return {nodes_->begin() + static_cast<std::ptrdiff_t>(begin), nodes_->begin() + static_cast<std::ptrdiff_t>(end)};
}

void Availability::set_dead(NodeId node) { dead_.insert(node); }

void Availability::set_alive(NodeId node) {
  dead_.erase(node);
  mute_.erase(node);
}

void Availability::forget_before(Time now) {
  std::erase_if(mute_, [&](const auto& entry) { return entry.second <= now; });
}

std::optional<NodeId> analyst_of(const Tree& tree, NodeId suspect, const Availability& known) {
  std::optional<NodeId> found;
  visit_analysts(tree, suspect, [&](NodeId node) {
    if (!known.dead(node) && !known.mute(node)) found = node;
    return found.has_value();
  });
  return found;
}

NodeId acting_root(const Tree& tree, NodeId self, const Availability& known) {
  // All nodes know who is dead. Who is mute, each has found out alone: so only two are tried that all would try.
  constexpr int kTried = 2;
  int tried = 0;
  for (const NodeId node : tree.nodes()) {
    if (known.dead(node)) continue;
    if (!known.mute(node)) return node;
    if (++tried == kTried) break;
  }
  NodeId highest = self;
  for (auto above = tree.parent(self); above; above = tree.parent(*above)) {
    if (!known.dead(*above) && !known.mute(*above)) highest = *above;
  }
  return highest;
}

std::vector<NodeId> living_children(const Tree& tree, NodeId node, const Availability& known) {
  std::vector<NodeId> living;
  std::vector<NodeId> left = tree.children(node);
  while (!left.empty()) {
    const NodeId child = left.back();
    left.pop_back();
    if (known.dead(child)) {
      std::ranges::copy(tree.children(child), std::back_inserter(left));
    } else {
      living.push_back(child);
    }
  }
  std::ranges::sort(living);
  return living;
}

}  // namespace cairn::localize
