#include "repair/growth.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "repair/landing.hpp"
#include "repair/sick_seats.hpp"

namespace cairn {

using Role = Member::Role;

bool may_grow(const Config::Recovery& recovery) {
  return recovery.mode == Config::Recovery::Mode::respawn ||
         recovery.when_spent == Config::Recovery::WhenSpent::respawn;
}

std::vector<NodeId> nodes_to_grow(const PoolState& state, const Decision& decision, const Config::Recovery& recovery) {
  using Mode = Config::Recovery::Mode;
  const Roster& roster = state.roster;
  std::vector<NodeId> nodes;
  if (recovery.mode == Mode::respawn) {
    std::vector<bool> lives(roster.size());
    std::size_t spares = 0;
    for (const std::uint32_t number : decision.live) {
      lives[number] = true;
      if (roster[number].role == Role::spare) ++spares;
    }
    for (std::size_t i = 0; i < roster.size(); ++i) {
      if (!lives[i] && roster[i].role != Role::spare) nodes.push_back(roster[i].node);
    }
    const std::size_t left = spares - std::min<std::size_t>(spares, recovery.spares);
    nodes.resize(nodes.size() - std::min(nodes.size(), left));
  } else if (recovery.when_spent == Config::Recovery::WhenSpent::respawn) {
    for (const Member& rank : decision.repair.unfilled) nodes.push_back(rank.node);
  }
  return nodes;
}

Result<bool> grow(UlfmComm::Ptr& pool, PoolState& state, const Decision& decision, std::vector<NodeId> nodes,
                  const Log& log) {
  const auto host_of = hosts_by_node(state);
  const bool one_host = std::ranges::all_of(host_of, [&](const std::string& host) { return host == host_of[0]; });
  const NodeId home = nodes.front();
  std::erase_if(nodes, [&](NodeId node) { return host_of[node.value] != host_of[home.value]; });
  const Survivors survivors{state.roster, decision.live, host_of};
  state.closed_hosts.merge(forgetful_hosts(survivors));
  const auto sick = hosts_of(decision.sick, state.nodes);
  while (const auto landing = landing_for(home, survivors, state.closed_hosts, sick)) {
    const std::string& host = host_of[landing->node.value];
    auto grown = pool->grow({landing->starter, one_host ? std::string() : host, nodes.size(), state.mark});
    if (!grown) {
      ++state.failed_growths;
      state.strays = true;
      return fail(grown.error());
    }
    if (!*grown) {
      if (pool->rank() == 0) log.warning("no new process could be started on {}", host);
      state.closed_hosts.insert(host);
      continue;
    }
    state.failed_growths = 0;
    pool = std::move(*grown);
    const std::uint32_t start = 1 + std::ranges::max(state.roster, {}, &Member::start).start;
    const bool at_home = landing->node == home;
    for (const NodeId node : nodes) state.roster.push_back({Role::spare, at_home ? node : landing->node, {}, start});
    return true;
  }
  return false;
}

}  // namespace cairn
