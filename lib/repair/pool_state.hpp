// What all processes of a pool know of their job, the same on each: who sits where, and what the repairs so far have
// found. Each meeting makes the next state from the last one (repair/decision). Pure.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include <cairn/failure_topology.hpp>

#include "base/bytes.hpp"
#include "base/error.hpp"
#include "repair/roles.hpp"
#include "topology/topology.hpp"

namespace cairn {

struct PoolState {
  std::vector<Seat> nodes;     // host and name of each node, as numbered for life
  Roster roster;               // by number in the pool
  std::uint32_t repairs = 0;   // since the start of the job
  std::uint32_t progress = 0;  // the newest snapshot that any process has restored, as of the last repair
  std::uint32_t repairs_without_progress = 0;  // since the application last restored a newer snapshot than ever before
  std::uint32_t repairs_without_effect = 0;    // in a row, that found no dead process
  std::uint32_t failed_growths = 0;            // in a row, that started no newcomers
  std::set<std::string> closed_hosts;          // that take no new processes
  std::string mark;                            // variable in the environment of all new processes, of this pool alone
  bool strays = false;                         // there may be new processes that are in no pool
  bool under_way = false;                      // the application of a process was
  bool gives_up = false;                       // a process has requested the end of the job

  // No rank is seated twice, none is missing, and no node has two heads. To be called after each repair.
  void check_invariants() const;
};

// The seats of a session's world. `roster`: that of the state, or one before it.
[[nodiscard]] std::vector<Seat> seats_of(const PoolState& state, const Roster& roster);
// By node.
[[nodiscard]] std::vector<std::string> hosts_by_node(const PoolState& state);
// "rank 2 on node n3"
[[nodiscard]] std::string name_of(const PoolState& state, const Member& member);
// The dead ranks and lost nodes, by the numbers of the last session. `live`: numbers in the roster of `before`.
[[nodiscard]] FailureTopology failures_of(const PoolState& before, const std::vector<std::uint32_t>& live,
                                          HeadMode mode);

// For new processes.
void encode(const PoolState& state, ByteWriter& out);
[[nodiscard]] Result<PoolState> decode_pool_state(ByteReader& in);

}  // namespace cairn
