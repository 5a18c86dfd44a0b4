// Which input of a decode was bad: a shard that was decoded wrongly does not tell.
#pragma once

#include <cstddef>
#include <vector>

#include "level/level.hpp"

namespace cairn {

// Reads every file that this node gives to a delivery, and names those that are not what its manifest says. Called when
// a decoded shard is wrong, because the shard does not show which input was bad. Local.
[[nodiscard]] std::vector<Strike> bad_inputs(const NodeContext& node, const RestoreTask& task,
                                             const Delivery& delivery);

// If no input is bad, the decode used wrong tables. Strikes all parity of the node that sent them, so that the next
// plan asks another node. A manifest with a wrong digit then costs its node's parity, but not the snapshot. Local.
[[nodiscard]] std::vector<Strike> suspect_tables(const NodeContext& node, const RestoreTask& task,
                                                 const Delivery& delivery);

// Which input of a wrong decode was bad? Every node checks the inputs that it gave. If no node finds a bad one, the
// tables that the decode used are struck, so that planning comes to an end. `wrong`: positions of wrong deliveries that
// have arrived here. `struck`: this node could not read an input that it had to give, which explains the failure.
// Collective.
[[nodiscard]] Result<std::vector<Strike>> examine_decodes(Comm& heads, const NodeContext& node, const RestoreTask& task,
                                                          const std::vector<std::size_t>& wrong, bool struck);

}  // namespace cairn
