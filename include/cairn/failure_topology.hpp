// What a failure took, as far as the caller knows. It is a hint: a restore then does not look for stores that are gone.
// All data is still verified. A wrong hint costs only time.
#pragma once

#include <cstdint>
#include <vector>

namespace cairn {

// The ranks and nodes that a failure took. All numbers count from 0 and are those before the failure. The order does
// not matter. Numbers of ranks or nodes that do not exist are ignored. All ranks pass the same.
struct FailureTopology {
  // Dead application ranks, numbered as Session::rank() did; heads have no number here. For the application only:
  // restore() does not use them.
  std::vector<std::uint32_t> dead_ranks;
  // Nodes whose stores are lost. Nodes are numbered by their lowest rank in the communicator of open() or run(). So
  // node 0 has rank 0, and node 1 has the lowest rank that is not on node 0.
  std::vector<std::uint32_t> lost_nodes;
};

}  // namespace cairn
