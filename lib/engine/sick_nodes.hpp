// Which nodes of today's topology were found sick by earlier runs, as health.json of the global store says. They are
// avoided as holders of what other nodes must not lose (topology/layout).
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/ids.hpp"
#include "format/health_file.hpp"
#include "level/level.hpp"
#include "topology/topology.hpp"

namespace cairn {

// Those that the entries name and that are of today, ascending. A node is found by its host. Of a host with several
// nodes, it is the one with the same number; all of them, if the host has none with that number. Pure.
[[nodiscard]] std::vector<NodeId> sick_nodes(const std::vector<HealthEntry>& entries, const Topology& topology,
                                             std::chrono::seconds today);

// The hosts that the entries name, and on which no node of today is. Each once. Pure.
[[nodiscard]] std::vector<std::string> sick_hosts_elsewhere(const std::vector<HealthEntry>& entries,
                                                            const Topology& topology, std::chrono::seconds today);

struct SickPlaces {
  std::vector<NodeId> nodes;
  std::vector<std::string> hosts_elsewhere;
};
// Reads the file, for all heads: none, if it cannot be read, which is logged. `sealer`: of the chain there. Local.
[[nodiscard]] SickPlaces read_sick_nodes(const NodeContext& node, const Topology& topology, const Sealer& sealer);

}  // namespace cairn
