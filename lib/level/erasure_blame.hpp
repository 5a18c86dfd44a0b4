// Which input of a decode was bad: a shard that was decoded wrongly does not tell.
#pragma once

#include <cstddef>
#include <vector>

#include "level/level.hpp"

namespace cairn {

// Reads every file that this node gives to a delivery, and names those that are not what its manifest says: asked when
// a decoded shard turns out wrong, since it does not tell which input was. Local.
[[nodiscard]] std::vector<Strike> bad_inputs(const NodeContext& node, const RestoreTask& task,
                                             const Delivery& delivery);

// When no input is bad, the tables were that the decode went by: all parity of the node that gave them, so that the
// next plan asks another. A manifest with a wrong digit costs its node's parity, and not the snapshot. Local.
[[nodiscard]] std::vector<Strike> suspect_tables(const NodeContext& node, const RestoreTask& task,
                                                 const Delivery& delivery);

// Which input of a wrong decode was bad? Everyone checks what he gave. When nobody finds anything, the tables are
// struck that it went by, so that planning comes to an end. `wrong`: positions of deliveries that have arrived here;
// `struck`: this node could not read an input that it was to give, which is why. Collective.
[[nodiscard]] Result<std::vector<Strike>> examine_decodes(Comm& heads, const NodeContext& node, const RestoreTask& task,
                                                          const std::vector<std::size_t>& wrong, bool struck);

}  // namespace cairn
