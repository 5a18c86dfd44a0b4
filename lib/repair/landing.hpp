// Chooses the host on which new processes replace dead ones ([recovery] mode = respawn). Pure.
//
// A live process of that same host always starts them. Open MPI 5.0 connects processes of one host only once with
// processes that they have started on another host.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/ids.hpp"
#include "repair/roles.hpp"

namespace cairn {

// The processes before the deaths, and the survivors among them.
struct Survivors {
  const Roster& before;
  const std::vector<std::uint32_t>& live;   // numbers in `before`, ascending
  const std::vector<std::string>& host_of;  // by node
};

// Hosts that are alive, but on which mpirun can no longer start processes of this job. Its daemon on a host forgets a
// set of processes that were started together when the last of them on that host has died. New processes there then
// cannot connect to those of the set that live on other hosts.
[[nodiscard]] std::set<std::string> forgetful_hosts(const Survivors& survivors);

struct Landing {
  std::uint32_t starter = 0;  // in `live`
  NodeId node;                // that the new processes belong to
  friend bool operator==(const Landing&, const Landing&) = default;
};

// Where new processes for a node go: to its host. If that is closed, or no process is alive there, they go to a host
// that has only spares; otherwise to the host with the fewest processes. Hosts of `sick` come last, in the same order.
// Nothing if all hosts are closed.
[[nodiscard]] std::optional<Landing> landing_for(NodeId node, const Survivors& survivors,
                                                 const std::set<std::string>& closed,
                                                 const std::set<std::string>& sick = {});

}  // namespace cairn
