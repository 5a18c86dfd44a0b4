#include "session/membership.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

namespace cairn {
namespace {

constexpr std::uint32_t kRanks = 0;
constexpr std::uint32_t kHeads = 1;

// Puts this process's part of the world where it is wanted; `color`: none if it is in no part.
Status split(Comm& world, std::optional<std::uint32_t> color, std::uint32_t key, std::unique_ptr<Comm>& part) {
  auto made = world.split(color, key);
  if (!made) return fail(made.error());
  part = std::move(*made);
  return {};
}

std::optional<std::uint32_t> color_if(bool member, std::uint32_t color) {
  return member ? std::optional(color) : std::nullopt;
}

}  // namespace

Result<std::unique_ptr<const Membership>> join_world(Comm& world, Topology topology) {
  const Peer me = world.rank();
  const NodeId node = topology.node_of_world[me.value];
  const bool acts_for_node = topology.nodes[node.value].head == me;
  const bool computes = !topology.is_dedicated_head(me);
  auto joined = std::make_unique<Membership>(
      Membership{.topology = std::move(topology), .node = node, .control = world, .ranks = {}, .heads = {}});
  // Application ranks keep the world's order. Nodes are numbered by their lowest rank, so the order of heads has to be
  // given. A split takes several rounds of all members: where no process both computes and acts for its node, one makes
  // both parts.
  Status made;
  if (std::ranges::all_of(joined->topology.nodes, &Node::dedicated_head)) {
    made = computes ? split(world, kRanks, 0, joined->ranks) : split(world, kHeads, node.value, joined->heads);
  } else {
    made = split(world, color_if(computes, kRanks), 0, joined->ranks).and_then([&] {
      return split(world, color_if(acts_for_node, kHeads), node.value, joined->heads);
    });
  }
  if (!made) return fail(made.error());
  return joined;
}

}  // namespace cairn
