// The four levels of redundancy.
#pragma once

#include <cstdint>

namespace cairn {

// Where a snapshot is stored, and so which failures it survives.
enum class LevelId : std::uint8_t {
  local = 1,    // L1: in the node's own store; survives the death of processes
  partner = 2,  // L2: also copied to partner nodes; survives the loss of [partner] copies nodes
  erasure = 3,  // L3: also Reed-Solomon coded in groups of nodes; survives the loss of [erasure] parity nodes per group
  global = 4,   // L4: on the parallel file system; survives the loss of all nodes
};

}  // namespace cairn
