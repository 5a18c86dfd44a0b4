// The arithmetic behind Layout: which L2 placements are possible, and how nodes are put into L3 groups.
// Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/ids.hpp"

namespace cairn {

inline constexpr std::uint32_t kMaxCopies = 8;
inline constexpr std::uint32_t kMaxRotation = 8;
inline constexpr std::uint32_t kMaxGroup = 255;  // elements of GF(2^8) less one

// The distance from the owner to copy j = 1 … `copies` in a turn, with DF = copies, SD = rotation:
// j·DF^(turn mod SD) + turn mod SD (see partners_of in topology/layout).
[[nodiscard]] std::uint64_t partner_shift(std::uint32_t copies, std::uint32_t rotation, std::uint64_t turn,
                                          std::uint32_t j);

// DF^SD + SD: with this many nodes or more, every placement is possible; with more, the theorem of Bondarenko and
// Yakobovskiy holds.
[[nodiscard]] std::uint64_t sufficient_nodes(std::uint32_t copies, std::uint32_t rotation);

// Why these copies cannot be placed on so many nodes: "placement 2 of 2 puts copy 2 on its owner"; empty: they can.
[[nodiscard]] std::string placement_obstacle(std::uint32_t copies, std::uint32_t rotation, std::uint32_t nodes);

// Groups of nearly equal size, at most `group`; empty when one would be smaller than parity + 1. Without domains a
// group is a run of nodes. With domains (one number a node) each domain is dealt out over all groups, so that the loss
// of a domain costs each group as few members as possible; and neighbours in a group are from different domains unless
// one domain has more than half of it.
[[nodiscard]] std::vector<std::vector<NodeId>> make_groups(std::uint32_t nodes, std::uint32_t group,
                                                           std::uint32_t parity,
                                                           const std::vector<std::uint32_t>& domain_of_node);

}  // namespace cairn
