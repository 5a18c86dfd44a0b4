// What processes tell each other at a meeting, and what follows: a vote of each goes in, the next state of the pool
// comes out. Each process decides by itself, from the same facts. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include <cairn/failure_topology.hpp>

#include "config/config.hpp"
#include "mpi/process.hpp"
#include "repair/pool_state.hpp"
#include "rollback/host.hpp"
#include "topology/sick_names.hpp"

namespace cairn {

// What a process tells the others.
struct PoolVote {
  bool done = false;           // all application ranks have finished, so the job is over
  bool under_way = false;      // its application was
  bool gives_up = false;       // it requests the end of the job
  std::uint32_t restored = 0;  // version of the newest snapshot that it has restored
  rollback::Vote rollback = {};
  SickNames sick = {};  // nodes that it knows to be sick: spares there are used last
};

// What follows; but for gives_reason the same on all.
struct PoolVerdict {
  bool over = false;
  // All surviving application ranks can stay in their calls, and no rank has died in too many catch-ups.
  bool only_lost_roll_back = false;
  // This process is the first of those that know why all roll back; if nobody does, of those that have seen something.
  bool gives_reason = false;
  FailureTopology failures = {};  // the dead ranks and lost nodes
};

// A vote as it is sent, as raw bytes.
struct Presence {
  std::uint32_t number = 0;  // in the roster
  std::uint32_t under_way = 0;
  std::uint32_t restored = 0;
  std::uint32_t gives_up = 0;
  std::uint32_t can_stay = 0;
  std::uint32_t have_caught_up = 0;
  rollback::Obstacle::Weight reason = rollback::Obstacle::Weight::none;
  ProcessId process;
};
[[nodiscard]] Presence presence_of(const PoolVote& vote, std::uint32_t number, const ProcessId& process);

// What a repair by these survivors comes to.
struct Decision {
  using Weight = rollback::Obstacle::Weight;
  std::vector<std::uint32_t> live;  // by their numbers in the roster
  std::vector<ProcessId> processes;
  Repair repair;
  bool under_way = false;
  bool gives_up = false;
  bool all_stay = true;
  std::optional<Rank> lost_in_catch_ups;
  Weight best_reason = Weight::none;  // why not
  std::uint32_t gives_reason = 0;     // the first process that has it
  std::vector<std::uint32_t> cannot_stay;
  std::uint32_t restored = 0;
  std::set<NodeId> sick;  // as any of them knows
};
// Requires: `present` is ascending by number.
[[nodiscard]] Decision decide(const PoolState& state, HeadMode mode, const std::vector<Presence>& present,
                              std::set<NodeId> sick = {});
// Those who recompute the steps of the lost rank together, by number in the new roster; see helpers_of().
[[nodiscard]] std::vector<std::uint32_t> helpers_after(const PoolState& state, const Decision& decision,
                                                       std::uint32_t most);
// Requires: each rank is filled.
[[nodiscard]] PoolState after(PoolState before, const Decision& decision);
// `me`: the number of this process before the repair.
[[nodiscard]] PoolVerdict verdict_of(const PoolState& before, HeadMode mode, const Decision& decision,
                                     std::uint32_t me);

// Whether repairs use spares on sick nodes last ([localize] act). Only heads that are ranks look for sick nodes.
[[nodiscard]] bool heeds_sick_nodes(const Config& config);

}  // namespace cairn
