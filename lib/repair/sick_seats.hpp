// Which nodes of a pool are sick, as processes tell each other at a meeting: a bit for each node. A process that was a
// head adds what it knew. All processes then use the same bits. Pure.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/ids.hpp"
#include "topology/sick_names.hpp"
#include "topology/topology.hpp"

namespace cairn {

// `nodes`: host and name of each node, by its number in the pool.
[[nodiscard]] std::vector<std::uint64_t> sick_bits(const SickNames& names, std::span<const Seat> nodes);
[[nodiscard]] std::set<NodeId> nodes_of_bits(std::span<const std::uint64_t> bits);
// The hosts of those nodes.
[[nodiscard]] std::set<std::string> hosts_of(const std::set<NodeId>& sick, std::span<const Seat> nodes);

}  // namespace cairn
