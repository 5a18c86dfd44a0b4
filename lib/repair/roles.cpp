#include "repair/roles.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

namespace cairn {
namespace {

using Role = Member::Role;

// One repair under way.
class Repairer {
 public:
  Repairer(const Roster& before, const std::vector<std::uint32_t>& live, const std::set<NodeId>& sick) : sick_(sick) {
    std::vector<bool> lives(before.size());
    for (const std::uint32_t number : live) {
      lives[number] = true;
      roster_.push_back(before[number]);
    }
    for (std::size_t i = 0; i < before.size(); ++i) {
      if (!lives[i] && before[i].role == Role::rank) holes_.push_back(before[i]);
    }
    std::ranges::sort(holes_, {}, &Member::rank);
  }

  enum class Among { healthy, all };

  void fill_at_home(Among among) {
    std::erase_if(holes_, [&](const Member& hole) {
      return !left_out(hole.node, among) && take(find(Role::spare, hole.node), hole);
    });
  }

  void give_ranks_to_lone_heads() {
    std::erase_if(holes_, [&](const Member& hole) {
      return count(Role::rank, hole.node) == 0 && take(find(Role::head, hole.node), hole);
    });
  }

  void fill_elsewhere(Among among) {
    std::erase_if(holes_, [&](const Member& hole) {
      const auto spare = best_spare(hole.node, among);
      if (!spare) return false;
      neighbours_[hole.node] = roster_[*spare].node;
      return take(spare, hole);
    });
  }

  void appoint_heads() {
    std::set<NodeId> nodes;
    for (const Member& member : roster_) {
      if (member.role == Role::rank) nodes.insert(member.node);
    }
    for (const NodeId node : nodes) {
      if (count(Role::head, node) > 0) continue;
      if (const auto spare = find(Role::spare, node)) roster_[*spare].role = Role::head;
    }
  }

  Repair result() && { return {std::move(roster_), std::move(holes_)}; }

 private:
  // The last one, which came last.
  [[nodiscard]] std::optional<std::size_t> find(Role role, NodeId node) const {
    for (std::size_t i = roster_.size(); i-- > 0;) {
      if (roster_[i].role == role && roster_[i].node == node) return i;
    }
    return {};
  }
  [[nodiscard]] std::size_t count(Role role, NodeId node) const {
    return static_cast<std::size_t>(std::ranges::count_if(
        roster_, [&](const Member& member) { return member.role == role && member.node == node; }));
  }

  bool take(std::optional<std::size_t> who, const Member& hole) {
    if (!who) return false;
    roster_[*who].role = Role::rank;
    roster_[*who].rank = hole.rank;
    roster_[*who].catch_ups = hole.catch_ups + 1;
    return true;
  }

  [[nodiscard]] bool left_out(NodeId node, Among among) const {
    return among == Among::healthy && sick_.contains(node);
  }

  [[nodiscard]] std::optional<std::size_t> best_spare(NodeId lost, Among among) const {
    const auto neighbour = neighbours_.find(lost);
    const auto cost = [&](std::size_t i) {
      const NodeId node = roster_[i].node;
      if (neighbour != neighbours_.end() && neighbour->second == node) return std::pair(0, std::size_t{0});
      // A node with more spares can also take other ranks of the lost node, and a head.
      if (count(Role::rank, node) == 0) return std::pair(1, roster_.size() - count(Role::spare, node));
      return std::pair(2, std::size_t{0});
    };
    std::optional<std::size_t> best;
    for (std::size_t i = 0; i < roster_.size(); ++i) {
      if (roster_[i].role != Role::spare || left_out(roster_[i].node, among)) continue;
      if (!best || cost(i) < cost(*best)) best = i;
    }
    return best;
  }

  const std::set<NodeId>& sick_;
  Roster roster_;
  std::vector<Member> holes_;
  std::map<NodeId, NodeId> neighbours_;  // where the ranks of a node go to
};

}  // namespace

Result<Roster> first_roster(const Topology& everyone, HeadMode mode, std::uint32_t spares) {
  const auto all = static_cast<std::uint32_t>(everyone.node_of_world.size());
  if (spares >= all) {
    return fail(Code::config, fmt::format("[recovery] spares = {}: only {} ranks were started", spares, all),
                "start as many ranks more as there are spares");
  }
  const std::uint32_t busy = all - spares;
  Roster roster(all);
  for (std::uint32_t i = 0; i < all; ++i) roster[i].node = everyone.node_of_world[i];
  std::uint32_t ranks = 0;
  for (std::uint32_t i = 0; i < busy; ++i) {
    const NodeId node = roster[i].node;
    const auto here = [&](const Member& member) { return member.node == node; };
    const auto last = roster.begin() + busy;
    const bool is_last = std::find_if(roster.begin() + i + 1, last, here) == last;
    if (mode == HeadMode::rank && is_last) {
      if (std::count_if(roster.begin(), last, here) < 2) {
        return fail(
            Code::config,
            fmt::format("node {} has only world rank {} that is not a spare, but [head] mode = rank needs one rank for "
                        "the head",
                        everyone.nodes[node.value].name, i),
            "start one rank more per node, or set [head] mode = inline");
      }
      roster[i].role = Role::head;
    } else {
      roster[i].role = Role::rank;
      roster[i].rank = Rank{ranks++};
    }
  }
  return roster;
}

Repair repair(const Roster& before, const std::vector<std::uint32_t>& live, HeadMode mode,
              const std::set<NodeId>& sick) {
  Repairer repairer(before, live, sick);
  repairer.fill_at_home(Repairer::Among::healthy);
  repairer.give_ranks_to_lone_heads();
  repairer.fill_elsewhere(Repairer::Among::healthy);
  repairer.fill_at_home(Repairer::Among::all);
  repairer.fill_elsewhere(Repairer::Among::all);
  if (mode == HeadMode::rank) repairer.appoint_heads();
  return std::move(repairer).result();
}

void end_catch_ups(Roster& roster) {
  for (Member& member : roster) member.catch_ups = 0;
}

std::optional<Rank> lost_in_catch_ups(const Roster& before, const std::vector<std::uint32_t>& live) {
  constexpr std::uint32_t kMost = 2;
  for (std::uint32_t i = 0; i < before.size(); ++i)
    if (before[i].catch_ups >= kMost && std::ranges::find(live, i) == live.end()) return before[i].rank;
  return {};
}

std::vector<std::uint32_t> helpers_of(const Roster& before, const std::vector<std::uint32_t>& live, const Roster& after,
                                      std::uint32_t most) {
  std::vector<Rank> lost;
  for (std::uint32_t i = 0; i < before.size(); ++i)
    if (before[i].role == Role::rank && std::ranges::find(live, i) == live.end()) lost.push_back(before[i].rank);
  if (lost.size() != 1 || most < 2) return {};
  std::vector<std::uint32_t> members;
  for (std::uint32_t i = 0; i < after.size(); ++i)
    if (after[i].role == Role::rank && after[i].rank == lost.front()) members.push_back(i);
  for (std::uint32_t i = 0; i < after.size() && members.size() < most; ++i)
    if (after[i].role == Role::spare) members.push_back(i);
  if (members.size() < 2) return {};
  return members;
}

std::vector<std::uint32_t> world_of(const Roster& roster) {
  std::vector<std::uint32_t> members;
  for (std::uint32_t i = 0; i < roster.size(); ++i) {
    if (roster[i].role != Role::spare) members.push_back(i);
  }
  std::ranges::sort(members, {}, [&](std::uint32_t i) {
    const Member& member = roster[i];
    return member.role == Role::rank ? std::pair(0U, member.rank.value) : std::pair(1U, member.node.value);
  });
  return members;
}

}  // namespace cairn
