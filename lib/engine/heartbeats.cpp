#include "engine/heartbeats.hpp"

#include <algorithm>

namespace cairn {
namespace {

constexpr std::chrono::seconds kSilentAgain{5};

std::vector<NodeId> watchers_of(NodeId node, const localize::Tree& tree) {
  std::vector<NodeId> watchers;
  const auto add = [&](NodeId other) {
    if (other != node && std::ranges::find(watchers, other) == watchers.end()) watchers.push_back(other);
  };
  if (const auto analyst = analyst_of(tree, node, {})) add(*analyst);
  const auto nodes = tree.nodes();
  if (const auto place = tree.place(node)) add(nodes[(*place + 1) % nodes.size()]);
  return watchers;
}

}  // namespace

Heartbeats::Heartbeats(NodeId self, const localize::Tree& tree, Time silent_after)
    : watchers_(watchers_of(self, tree)) {
  limits_.heartbeat_period = std::max<Time>(silent_after / kMissed, std::chrono::milliseconds(1));
  limits_.heartbeats_missed = kMissed;
  for (const NodeId node : tree.nodes()) {
    const auto its = watchers_of(node, tree);
    if (std::ranges::find(its, self) != its.end()) watched_.emplace(node, Watched{});
  }
}

bool Heartbeats::due(Time now) {
  if (now < next_) return false;
  next_ = now + limits_.heartbeat_period;
  return true;
}

void Heartbeats::heard(NodeId from, Time now) {
  const auto found = watched_.find(from);
  if (found != watched_.end()) found->second.heard = now;
}

std::vector<Heartbeats::Silent> Heartbeats::look(Time now) {
  std::vector<Silent> silent;
  for (auto& [node, watched] : watched_) {
    if (!looked_) watched.heard = now;
    const auto symptom = detect_heartbeat({{node, std::nullopt}, {}, now}, watched.heard, limits_);
    if (!symptom || now < watched.next_report) continue;
    watched.next_report = now + kSilentAgain;
    silent.push_back({node, symptom->measure});
  }
  looked_ = true;
  return silent;
}

}  // namespace cairn
