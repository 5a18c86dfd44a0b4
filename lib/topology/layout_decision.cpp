#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "topology/layout.hpp"
#include "topology/placement.hpp"

namespace cairn {
namespace {

// Why a level is impossible on these nodes, and how to change that.
struct Obstacle {
  std::string why;
  std::string remedy;
};

std::string counted_nodes(std::uint32_t nodes) { return fmt::format("{} node{}", nodes, nodes == 1 ? "" : "s"); }

Obstacle partner_obstacle(const LayoutWishes& wishes, std::uint32_t nodes) {
  if (nodes == 1) {
    return {"L2 needs at least 2 nodes; there is 1", "start on more nodes, or set [levels] l2 = off"};
  }
  const auto why = placement_obstacle(wishes.copies, wishes.rotation, nodes);
  if (why.empty()) return {};
  const auto enough = sufficient_nodes(wishes.copies, wishes.rotation);
  if (wishes.rotation == 1) {
    return {fmt::format("[partner] copies = {} needs at least {} nodes; there are {}", wishes.copies, enough, nodes),
            "set copies = 1, or [levels] l2 = off"};
  }
  return {fmt::format("[partner] copies = {} and rotation = {} cannot be placed on {}: {}", wishes.copies,
                      wishes.rotation, counted_nodes(nodes), why),
          fmt::format("start on {} nodes or more, or set copies = 1 and rotation = 1", enough)};
}

Obstacle erasure_obstacle(const LayoutWishes& wishes, std::uint32_t nodes) {
  if (nodes <= wishes.parity) {
    return {fmt::format("[erasure] parity = {} needs at least {} nodes; there {} {}", wishes.parity, wishes.parity + 1,
                        nodes == 1 ? "is" : "are", nodes),
            nodes == 1 ? "start on more nodes, or set [levels] l3 = off" : "set parity = 1, or [levels] l3 = off"};
  }
  const auto groups = (nodes + wishes.group - 1) / wishes.group;
  if (nodes / groups > wishes.parity) return {};
  return {fmt::format("[erasure] group = {}, parity = {}: {} nodes in {} groups leave a group with only {} nodes; it "
                      "needs at least {}",
                      wishes.group, wishes.parity, nodes, groups, nodes / groups, wishes.parity + 1),
          fmt::format("set parity = {} or less, or a larger group", nodes / groups - 1)};
}

// True: the level can be on. False: it is off, and `decision` has a note or warning with its name, unless it was not
// wanted.
Result<bool> settle(const char* name, LayoutWishes::Wish wish, const Obstacle& obstacle, bool restart,
                    LayoutDecision& decision) {
  if (wish == LayoutWishes::Wish::off) return false;
  if (obstacle.why.empty()) return true;
  if (wish == LayoutWishes::Wish::where_possible) {
    decision.notes.push_back(fmt::format("{} is off: {}", name, obstacle.why));
    return false;
  }
  if (!restart) return fail(Code::config, obstacle.why, obstacle.remedy);
  decision.warnings.push_back(fmt::format("{} is off until the next restart: {}", name, obstacle.why));
  return false;
}

// With one copy or one placement the theorem promises that `copies` losses are survived; distinct holders ensure that
// on any number of nodes. Only if the theorem would promise more is there something to warn of.
void remark_on_theorem(LayoutDecision& decision) {
  const auto& layout = decision.layout;
  if (layout.copies < 2 || layout.rotation < 2) return;
  if (!layout.domain_of_node.empty()) {
    decision.notes.push_back(fmt::format(
        "L2: copies avoid their owner's failure domain. With rotation = {}, L2 may not survive the loss of more than "
        "{} nodes",
        layout.rotation, layout.copies));
    return;
  }
  if (!layout.avoided.empty()) {
    decision.notes.push_back(fmt::format(
        "L2: copies avoid sick nodes. With rotation = {}, L2 may not survive the loss of more than {} nodes",
        layout.rotation, layout.copies));
    return;
  }
  const auto bound = sufficient_nodes(layout.copies, layout.rotation);
  if (layout.nodes > bound) return;
  decision.warnings.push_back(fmt::format(
      "L2 may not survive the loss of more than {} nodes: [partner] copies = {} and rotation = {} need "
      "more than {} nodes to survive the loss of any {}; there are {}",
      layout.copies, layout.copies, layout.rotation, bound, (layout.copies - 1) * layout.rotation + 1, layout.nodes));
}

void remark_on_partner_domains(LayoutDecision& decision) {
  const auto& layout = decision.layout;
  if (layout.copies == 0 || layout.domain_of_node.empty()) return;
  for (std::uint32_t owner = 0; owner < layout.nodes; ++owner) {
    for (std::uint32_t turn = 0; turn < layout.rotation; ++turn) {
      for (const auto partner : partners_of(layout, NodeId{owner}, turn)) {
        if (layout.domain_of_node[partner.value] != layout.domain_of_node[owner]) continue;
        decision.warnings.push_back(fmt::format(
            "L2: node {} has a copy on node {} in the same failure domain: too few nodes are outside that domain",
            owner, partner.value));
        return;
      }
    }
  }
}

void remark_on_group_domains(LayoutDecision& decision) {
  const auto& layout = decision.layout;
  if (layout.domain_of_node.empty()) return;
  for (std::size_t group = 0; group < layout.groups.size(); ++group) {
    std::map<std::uint32_t, std::uint32_t> members_in;
    for (const auto node : layout.groups[group]) {
      if (++members_in[layout.domain_of_node[node.value]] <= layout.parity) continue;
      decision.warnings.push_back(
          fmt::format("L3: the failure domain of node {} has more than parity = {} nodes of group {}: too few "
                      "nodes are outside that domain",
                      node.value, layout.parity, group));
      return;
    }
  }
}

// How much sick nodes hold of others: owners of copies in all turns, and places in groups with parity.
std::size_t burden(const Layout& layout, const std::vector<NodeId>& sick) {
  std::size_t held = 0;
  for (const NodeId node : sick) {
    for (std::uint32_t turn = 0; turn < layout.rotation; ++turn) held += owners_held_by(layout, node, turn).size();
    if (layout.groups.empty()) continue;
    const auto place = layout.place_in_group(node);
    if (layout.shape_of(place.group).holds_parity(place.index)) ++held;
  }
  return held;
}

void remark_on_sick(LayoutDecision& decision, const std::vector<NodeId>& sick, const std::vector<std::string>& hosts) {
  for (const NodeId node : sick) {
    const auto name = fmt::format("node {} (host {})", node.value, hosts[node.value]);
    if (burden(decision.layout, {node}) == 0) {
      decision.notes.push_back(fmt::format("{} is sick: it keeps no copies or parity of other nodes", name));
    } else {
      decision.warnings.push_back(
          fmt::format("{} is sick, but it keeps copies or parity of other nodes: there are too few others", name));
    }
  }
}

// Takes sick nodes out of their duties for others, as far as others can take these over.
void avoid(std::vector<NodeId> sick, const std::vector<std::string>& hosts, LayoutDecision& decision) {
  std::ranges::sort(sick);
  sick.erase(std::unique(sick.begin(), sick.end()), sick.end());
  Layout& layout = decision.layout;
  std::erase_if(sick, [&](NodeId node) { return node.value >= layout.nodes; });
  if (sick.empty() || (layout.copies == 0 && layout.groups.empty())) return;
  Layout without = layout;
  without.avoided = sick;
  for (auto& group : without.groups)
    std::stable_partition(group.begin(), group.end(), [&](NodeId node) { return !without.avoids(node); });
  const bool few = sick.size() <= most_avoided(layout.nodes);
  if (few && burden(without, sick) < burden(layout, sick)) layout = std::move(without);
  remark_on_sick(decision, sick, hosts);
}

Status check_wishes(const LayoutWishes& wishes) {
  if (wishes.copies < 1 || wishes.copies > kMaxCopies || wishes.rotation < 1 || wishes.rotation > kMaxRotation) {
    return fail(Code::invalid_argument,
                fmt::format("[partner] copies = {}, rotation = {}: should be 1 to {} and 1 to {}", wishes.copies,
                            wishes.rotation, kMaxCopies, kMaxRotation));
  }
  if (wishes.group < 2 || wishes.group > kMaxGroup || wishes.parity < 1 || wishes.parity >= wishes.group) {
    return fail(Code::invalid_argument,
                fmt::format("[erasure] group = {}, parity = {}: should be 2 to {} and 1 to group - 1", wishes.group,
                            wishes.parity, kMaxGroup));
  }
  return {};
}

}  // namespace

Result<LayoutDecision> decide_layout(const Topology& topology, const LayoutWishes& wishes) {
  if (auto sane = check_wishes(wishes); !sane) return fail(sane.error());

  LayoutDecision decision;
  auto& layout = decision.layout;
  layout.nodes = topology.node_count();
  layout.domain_of_node = topology.domain_of_node;
  for (const auto world : topology.world_of_rank) layout.node_of_rank.push_back(topology.node_of_world[world.value]);

  const auto partner =
      settle("L2", wishes.for_copies, partner_obstacle(wishes, layout.nodes), wishes.restart, decision);
  if (!partner) return fail(partner.error());
  if (*partner) {
    layout.copies = wishes.copies;
    layout.rotation = wishes.rotation;
  }
  const auto erasure =
      settle("L3", wishes.for_parity, erasure_obstacle(wishes, layout.nodes), wishes.restart, decision);
  if (!erasure) return fail(erasure.error());
  if (*erasure) {
    layout.groups = make_groups(layout.nodes, wishes.group, wishes.parity, layout.domain_of_node);
    layout.parity = wishes.parity;
  }
  avoid(wishes.avoid, topology.hosts(), decision);
  remark_on_theorem(decision);
  remark_on_partner_domains(decision);
  remark_on_group_domains(decision);
  return decision;
}

}  // namespace cairn
