// The place of this process in the job: its node, its role, and the communicators for it. Everything else of a session
// refers to it; a repair of the job makes another one.
#pragma once

#include <memory>

#include "base/error.hpp"
#include "comm/comm.hpp"
#include "topology/topology.hpp"

namespace cairn {

struct Membership {
  Topology topology;
  NodeId node;
  Comm& control;                // ranks and heads, by world rank: the world itself
  std::unique_ptr<Comm> ranks;  // the application ranks; null: this process is a head and does nothing else
  std::unique_ptr<Comm> heads;  // member i is the head of node i; null: another process acts for this one's node

  [[nodiscard]] bool computes() const { return ranks != nullptr; }
  [[nodiscard]] bool acts_for_node() const { return heads != nullptr; }
  [[nodiscard]] const Node& here() const { return topology.nodes[node.value]; }
  // Of an application rank.
  [[nodiscard]] Rank rank() const { return Rank{ranks->rank().value}; }
};

// Requires: `world` has the ranks of the topology, and outlives the result. Only heads know of an error among heads, so
// the caller must agree on the outcome over the world. Collective over the world.
[[nodiscard]] Result<std::unique_ptr<const Membership>> join_world(Comm& world, Topology topology);

}  // namespace cairn
