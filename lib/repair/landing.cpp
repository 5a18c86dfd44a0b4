#include "repair/landing.hpp"

#include <tuple>
#include <utility>

namespace cairn {

std::set<std::string> forgetful_hosts(const Survivors& survivors) {
  std::set<std::pair<std::uint32_t, std::string>> present;
  std::set<std::uint32_t> alive;
  for (const std::uint32_t number : survivors.live) {
    const Member& member = survivors.before[number];
    present.emplace(member.start, survivors.host_of[member.node.value]);
    alive.insert(member.start);
  }
  std::set<std::string> hosts;
  for (const Member& member : survivors.before) {
    const std::string& host = survivors.host_of[member.node.value];
    if (alive.contains(member.start) && !present.contains({member.start, host})) hosts.insert(host);
  }
  return hosts;
}

std::optional<Landing> landing_for(NodeId node, const Survivors& survivors, const std::set<std::string>& closed,
                                   const std::set<std::string>& sick) {
  const auto member = [&](std::uint32_t at) -> const Member& { return survivors.before[survivors.live[at]]; };
  const auto host = [&](std::uint32_t at) -> const std::string& { return survivors.host_of[member(at).node.value]; };
  const std::string& home = survivors.host_of[node.value];
  const auto cost = [&](std::uint32_t at) {
    const bool is_sick = sick.contains(host(at));
    if (host(at) == home) return std::tuple(is_sick, 0, 0);
    int processes = 0;
    bool only_spares = true;
    for (std::uint32_t i = 0; i < survivors.live.size(); ++i) {
      if (host(i) != host(at)) continue;
      ++processes;
      only_spares = only_spares && member(i).role == Member::Role::spare;
    }
    return only_spares ? std::tuple(is_sick, 1, 0) : std::tuple(is_sick, 2, processes);
  };
  std::optional<std::uint32_t> best;
  for (std::uint32_t i = 0; i < survivors.live.size(); ++i) {
    if (!closed.contains(host(i)) && (!best || cost(i) < cost(*best))) best = i;
  }
  if (!best) return {};
  return Landing{*best, host(*best) == home ? node : member(*best).node};
}

}  // namespace cairn
