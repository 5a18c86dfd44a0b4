// What a failure took, as the MPI recovery layer or an operator knows it. It is a hint: a restore then does not wait
// for stores that are gone, nor plan with them. All that is read is still verified, and a wrong hint costs only time.
#pragma once

#include <cstdint>
#include <vector>

namespace cairn {

// All numbers are those of the life that failed, and count from 0. The order does not matter; all ranks pass the same.
// Numbers of ranks or nodes that do not exist are ignored.
struct FailureTopology {
  // Application ranks, as Session::rank() said: heads have no number here. Restores do not use them; they are for the
  // application.
  std::vector<std::uint32_t> dead_ranks;
  // Nodes whose store is lost. Nodes are numbered in the order of their lowest world rank: node 0 has world rank 0,
  // node 1 has the lowest world rank that is not on node 0, and so on.
  std::vector<std::uint32_t> lost_nodes;
};

}  // namespace cairn
