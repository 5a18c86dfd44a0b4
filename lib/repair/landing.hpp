// On which host new processes are started in the place of dead ones ([recovery] mode = respawn). Pure.
//
// Always by a live process of that very host: mpirun of Open MPI 5.0 brings processes of one host into touch with
// others that they have started on another host once, and then no more.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/ids.hpp"
#include "repair/roles.hpp"

namespace cairn {

// Who was there before the deaths, and who of them lives.
struct Survivors {
  const Roster& before;
  const std::vector<std::uint32_t>& live;   // numbers in `before`, ascending
  const std::vector<std::string>& host_of;  // by node
};

// Hosts that mpirun can start no process of this job on any more, although the host lives: its daemon forgets a set of
// processes that were started together when the last of them on its host has died, and then cannot introduce new
// processes to those of the set that live elsewhere.
[[nodiscard]] std::set<std::string> forgetful_hosts(const Survivors& survivors);

struct Landing {
  std::uint32_t starter = 0;  // in `live`
  NodeId node;                // that the new processes belong to
  friend bool operator==(const Landing&, const Landing&) = default;
};

// Where new processes for a node go: to its host; if that is closed, or nobody lives there, to a host on which only
// spares wait; else to the one with the fewest processes. Nothing if all hosts are closed.
[[nodiscard]] std::optional<Landing> landing_for(NodeId node, const Survivors& survivors,
                                                 const std::set<std::string>& closed);

}  // namespace cairn
