// The levels of redundancy: L1 in the node's own store, L2 on partner nodes, L3 Reed–Solomon across a group
// of nodes, L4 on the parallel file system.
#pragma once

#include <cstdint>

namespace cairn {

enum class LevelId : std::uint8_t { local = 1, partner = 2, erasure = 3, global = 4 };

}  // namespace cairn
