#include "repair/pool_state.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/check.hpp"

namespace cairn {

using Role = Member::Role;

void PoolState::check_invariants() const {
  std::set<std::uint32_t> ranks;
  std::set<std::uint32_t> headed;
  for (const Member& member : roster) {
    check(member.node.value < nodes.size());
    if (member.role == Role::rank) check(ranks.insert(member.rank.value).second);
    if (member.role == Role::head) check(headed.insert(member.node.value).second);
  }
  check(ranks.empty() || *ranks.rbegin() + 1 == ranks.size());
}

std::vector<Seat> seats_of(const PoolState& state, const Roster& roster) {
  std::vector<Seat> seats;
  for (const std::uint32_t number : world_of(roster)) {
    seats.push_back(state.nodes[roster[number].node.value]);
    seats.back().head = roster[number].role == Role::head;
  }
  return seats;
}

std::vector<std::string> hosts_by_node(const PoolState& state) {
  std::vector<std::string> hosts;
  for (const Seat& node : state.nodes) hosts.push_back(node.host);
  return hosts;
}

std::string name_of(const PoolState& state, const Member& member) {
  std::string role = "a spare";
  if (member.role == Role::rank) role = fmt::format("rank {}", member.rank.value);
  if (member.role == Role::head) role = "head";
  return fmt::format("{} on node {}", role, state.nodes[member.node.value].node);
}

FailureTopology failures_of(const PoolState& before, const std::vector<std::uint32_t>& live, HeadMode mode) {
  const Roster& roster = before.roster;
  FailureTopology failures;
  std::vector<bool> lives(roster.size());
  for (const std::uint32_t number : live) lives[number] = true;
  for (std::size_t i = 0; i < roster.size(); ++i) {
    if (!lives[i] && roster[i].role == Role::rank) failures.dead_ranks.push_back(roster[i].rank.value);
  }
  std::ranges::sort(failures.dead_ranks);
  // Node numbers are those of the last session.
  const Topology last = make_topology(seats_of(before, roster), mode);
  for (std::uint32_t node = 0; node < last.node_count(); ++node) {
    const bool is_seen = std::ranges::any_of(live, [&](std::uint32_t number) {
      return before.nodes[roster[number].node.value].node == last.nodes[node].name;
    });
    if (!is_seen) failures.lost_nodes.push_back(node);
  }
  return failures;
}

void encode(const PoolState& state, ByteWriter& out) {
  out.put_text(state.mark);
  out.put(state.strays);
  out.put(state.under_way);
  out.put(state.gives_up);
  out.put(state.repairs);
  out.put(state.repairs_without_progress);
  out.put(state.progress);
  out.put(static_cast<std::uint32_t>(state.nodes.size()));
  for (const Seat& node : state.nodes) {
    out.put_text(node.host);
    out.put_text(node.node);
  }
  out.put(static_cast<std::uint32_t>(state.roster.size()));
  for (const Member& member : state.roster) {
    out.put(member.role);
    out.put(member.node.value);
    out.put(member.rank.value);
    out.put(member.start);
    out.put(member.catch_ups);
  }
  out.put(static_cast<std::uint32_t>(state.closed_hosts.size()));
  for (const std::string& host : state.closed_hosts) out.put_text(host);
}

Result<PoolState> decode_pool_state(ByteReader& in) {
  PoolState state;
  state.mark = in.get_text();
  state.strays = in.get<bool>();
  state.under_way = in.get<bool>();
  state.gives_up = in.get<bool>();
  state.repairs = in.get<std::uint32_t>();
  state.repairs_without_progress = in.get<std::uint32_t>();
  state.progress = in.get<std::uint32_t>();
  const auto nodes = in.get<std::uint32_t>();
  for (std::uint32_t i = 0; i < nodes && in.good(); ++i) {
    Seat node;
    node.host = in.get_text();
    node.node = in.get_text();
    state.nodes.push_back(std::move(node));
  }
  const auto members = in.get<std::uint32_t>();
  for (std::uint32_t i = 0; i < members && in.good(); ++i) {
    Member member;
    member.role = in.get<Role>();
    member.node.value = in.get<std::uint32_t>();
    member.rank.value = in.get<std::uint32_t>();
    member.start = in.get<std::uint32_t>();
    member.catch_ups = in.get<std::uint32_t>();
    if (member.node.value >= state.nodes.size()) break;
    state.roster.push_back(member);
  }
  const auto closed = in.get<std::uint32_t>();
  for (std::uint32_t i = 0; i < closed && in.good(); ++i) state.closed_hosts.insert(in.get_text());
  if (!in.good() || state.roster.size() != members)
    return fail_internal(Code::communication, "the message to new processes is damaged");
  return state;
}

}  // namespace cairn
