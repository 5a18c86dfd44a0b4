// The fault localization tree: which node collects and analyses the symptoms about which other. Made of the nodes of a
// job at the start of a life; a repair makes it again. Pure: nodes that know the same choose the same.
//
// The first node is the root. Each node has up to `fanout` children, and places are filled level by level. The node
// that analyses another (its fault localization node) is its parent. If the parent is dead or mute, it is the next
// node upwards. The root's is its first child, which also replaces the root when that dies. A job of one node
// has nobody else: the node analyses itself.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "base/ids.hpp"

namespace cairn::localize {

inline constexpr std::uint32_t kDefaultFanout = 8;
inline constexpr std::uint32_t kDefaultThreshold = 3;      // what the symptoms of a group have to add up to
inline constexpr std::chrono::minutes kDefaultWindow{10};  // in which symptoms are one group

// Cheap to copy: copies share what they know.
class Tree {
 public:
  // Requires: no node twice; fanout > 0.
  Tree(std::vector<NodeId> nodes, std::uint32_t fanout = kDefaultFanout);

  [[nodiscard]] std::span<const NodeId> nodes() const { return *nodes_; }
  [[nodiscard]] bool has(NodeId node) const { return places_->contains(node); }
  // From the root on, level by level. None: no node of the tree.
  [[nodiscard]] std::optional<std::size_t> place(NodeId node) const;
  // None: the root, or no node of the tree.
  [[nodiscard]] std::optional<NodeId> parent(NodeId node) const;
  [[nodiscard]] std::vector<NodeId> children(NodeId node) const;

 private:
  std::shared_ptr<const std::vector<NodeId>> nodes_;
  std::shared_ptr<const std::map<NodeId, std::size_t>> places_;
  std::size_t fanout_;
};

// Which nodes one node knows to be dead or mute.
class Availability {
 public:
  using Time = std::chrono::microseconds;

  // Until a message comes from it.
  void set_dead(NodeId node);
  // It does not answer: until `until`, or until a message comes from it.
  void set_mute(NodeId node, Time until) { mute_[node] = until; }
  void set_alive(NodeId node);
  void forget_before(Time now);

  [[nodiscard]] bool dead(NodeId node) const { return dead_.contains(node); }
  [[nodiscard]] bool mute(NodeId node) const { return mute_.contains(node); }
  [[nodiscard]] bool empty() const { return dead_.empty() && mute_.empty(); }

 private:
  std::set<NodeId> dead_;
  std::map<NodeId, Time> mute_;
};

// Those that may analyse symptoms about `suspect`, the first choice first, until `visit(node)` is true: its ancestors
// from the parent to the root, and then the nodes next to it, which a broken network most likely leaves together.
template <class Visit>
void visit_analysts(const Tree& tree, NodeId suspect, Visit visit) {
  const auto place = tree.place(suspect);
  if (!place) return;
  for (auto above = tree.parent(suspect); above; above = tree.parent(*above)) {
    if (visit(*above)) return;
  }
  const auto nodes = tree.nodes();
  if (nodes.size() == 1) {
    visit(suspect);
    return;
  }
  for (std::size_t step = 1; step < nodes.size(); ++step) {
    if (*place + step < nodes.size() && visit(nodes[*place + step])) return;
    if (*place >= step && visit(nodes[*place - step])) return;
  }
}

// The node that analyses symptoms about `suspect`: the first that is alive and answers. The suspect only where it is
// the only node. None: nobody is left.
[[nodiscard]] std::optional<NodeId> analyst_of(const Tree& tree, NodeId suspect, const Availability& known);

// To whom `self` sends its verdicts: the root or the node that replaces it. If neither answers, the highest node above
// `self` that does, and at last `self`.
[[nodiscard]] NodeId acting_root(const Tree& tree, NodeId self, const Availability& known);

// Whom `node` passes on what the root announces: its children, and in place of dead ones their children.
[[nodiscard]] std::vector<NodeId> living_children(const Tree& tree, NodeId node, const Availability& known);

}  // namespace cairn::localize
