#include "session/membership.hpp"

#include <optional>
#include <utility>

namespace cairn {

Result<std::unique_ptr<const Membership>> join_world(Comm& world, Topology topology) {
  const Peer me = world.rank();
  const NodeId node = topology.node_of_world[me.value];
  const bool acts_for_node = topology.nodes[node.value].head == me;
  const bool computes = !topology.is_dedicated_head(me);
  Status status;
  const auto split = [&](bool member, std::uint32_t key) -> std::unique_ptr<Comm> {
    if (!status) return nullptr;
    auto made = world.split(member ? std::optional<std::uint32_t>(0) : std::nullopt, key);
    if (made) return std::move(*made);
    status = fail(made.error());
    return nullptr;
  };
  // Application ranks keep the world's order. Nodes are numbered by their lowest rank, so the order of heads has to be
  // given.
  auto control = split(true, 0);
  auto ranks = split(computes, 0);
  auto heads = split(acts_for_node, node.value);
  auto votes = split(acts_for_node, node.value);
  if (status = agree(world, status, "world rank"); !status) return fail(status.error());
  return std::make_unique<const Membership>(Membership{.topology = std::move(topology),
                                                       .node = node,
                                                       .control = std::move(control),
                                                       .ranks = std::move(ranks),
                                                       .heads = std::move(heads),
                                                       .votes = std::move(votes)});
}

}  // namespace cairn
