// The roles in a job that repairs itself: every live process is an application rank, the head of a node, or a spare,
// and every process has the same roster. When processes die, spares replace them by a fixed rule, so that all survivors
// compute the same new roster without messages.
//
// Nodes keep their numbers from the start of the job, because a process never leaves its node. (Each session renumbers
// the nodes that it uses.) Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "base/error.hpp"
#include "base/ids.hpp"
#include "topology/topology.hpp"

namespace cairn {

struct Member {
  enum class Role : std::uint8_t { rank, head, spare } role = Role::spare;
  NodeId node;
  Rank rank;                // of an application rank
  std::uint32_t start = 0;  // those of one number were started together: 0 by mpirun, others later
  // Of an application rank: how many processes in a row have replaced it that have not caught up.
  std::uint32_t catch_ups = 0;
  friend bool operator==(const Member&, const Member&) = default;
};

using Roster = std::vector<Member>;  // by number in the pool of live processes

// The roles at the start: the last `spares` ranks are spares, of the others the highest of each node is its head in
// mode `rank`. `everyone` is the world as if all computed.
[[nodiscard]] Result<Roster> first_roster(const Topology& everyone, HeadMode mode, std::uint32_t spares);

struct Repair {
  Roster roster;                 // of the survivors, in their order
  std::vector<Member> unfilled;  // ranks that no spare can replace, and where they were
};

// Gives the work of the dead to spares. `live`: the survivors, as numbers in `before`, ascending. An application rank
// goes to a spare of its own node, and there to the last one, so that newcomers are used before older spares. Otherwise
// it goes to a spare of a node that got another rank of its node; else of a node without application ranks; else of
// any. But if a node would be left with its head only, the head first becomes one of the node's ranks: then its store
// can still be reached. A node without a head gets one if it has another spare (mode `rank`).
//
// Spares on nodes of `sick` come last, also for ranks of those nodes: they are used if no other is left.
[[nodiscard]] Repair repair(const Roster& before, const std::vector<std::uint32_t>& live, HeadMode mode,
                            const std::set<NodeId>& sick = {});

// All ranks have caught up, or have rolled back: none is about to catch up.
void end_catch_ups(Roster& roster);
// A rank that is lost once more, though two processes have tried to catch up in its place: its program may fail each
// time. Nothing: no rank is.
[[nodiscard]] std::optional<Rank> lost_in_catch_ups(const Roster& before, const std::vector<std::uint32_t>& live);

// Who recomputes the steps of a lost rank, as numbers in `after`: its replacement, then at most `most` - 1 spares.
// Empty: not exactly one rank is lost, or no spare is left. `after`: the roster that repair() made of `before`.
[[nodiscard]] std::vector<std::uint32_t> helpers_of(const Roster& before, const std::vector<std::uint32_t>& live,
                                                    const Roster& after, std::uint32_t most);

// The members of the session's world, as numbers in the roster: application ranks in order, then heads.
[[nodiscard]] std::vector<std::uint32_t> world_of(const Roster& roster);

}  // namespace cairn
