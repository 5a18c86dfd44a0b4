// Layouts and inventories as large as one likes, without a store or a thread behind them.
#pragma once

#include <cstdint>
#include <set>

#include "recover/inventory.hpp"

namespace cairn::test {

// Nodes with so many application ranks each, one copy, groups of eight with two parities.
[[nodiscard]] Layout large_layout(std::uint32_t nodes, std::uint32_t ranks_on_node);
// What the stores that are left hold, when all had these snapshots at L1 to L3.
[[nodiscard]] Inventory inventory_after(const Layout& layout, std::uint32_t snapshots,
                                        const std::set<std::uint32_t>& lost);
// A sample of `count` nodes of `nodes`.
[[nodiscard]] std::set<std::uint32_t> sample_nodes(std::uint32_t nodes, std::uint32_t count, std::uint32_t seed);

}  // namespace cairn::test
