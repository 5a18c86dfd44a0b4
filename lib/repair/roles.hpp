// Who does what in a job that repairs itself: every live process is an application rank, the head of a node, or a
// spare, and everyone holds the same roster of them. When processes die, spares take over their work by a fixed rule,
// so that all survivors find the same new roster without messages.
//
// Nodes are numbered here as the job was started, for life: a process never leaves its node. (A session numbers the
// nodes that it uses anew.) Pure.
#pragma once

#include <cstdint>
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
  friend bool operator==(const Member&, const Member&) = default;
};

using Roster = std::vector<Member>;  // by number in the pool of live processes

// The roles at the start: the last `spares` ranks are spares, of the others the highest of each node is its head in
// mode `rank`. `everyone` is the world as if all computed.
[[nodiscard]] Result<Roster> first_roster(const Topology& everyone, HeadMode mode, std::uint32_t spares);

struct Repair {
  Roster roster;                 // of those who live, in their order
  std::vector<Member> unfilled;  // ranks that nobody is left for, and where they were
};

// Gives the work of the dead to spares. `live`: who lives, as numbers in `before`, ascending. An application rank goes
// to a spare of its own node, and there to the last one, so that newcomers are used before spares that have waited.
// Otherwise it goes to a spare of a node that got another rank of its node; else of a node without application ranks;
// else of any. But if a node would be left with its head only, the head first takes one of the node's ranks itself, so
// that its store can still be reached. A node without a head gets one if it has another spare (mode `rank`).
[[nodiscard]] Repair repair(const Roster& before, const std::vector<std::uint32_t>& live, HeadMode mode);

// The members of the session's world, as numbers in the roster: application ranks in order, then heads.
[[nodiscard]] std::vector<std::uint32_t> world_of(const Roster& roster);

}  // namespace cairn
