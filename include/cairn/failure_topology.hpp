// What a failure took, as the MPI recovery layer or an operator knows it. A hint: it spares waiting for and
// planning on stores that are gone; what is read is verified all the same, and a wrong hint costs time only.
#pragma once

#include <cstdint>
#include <vector>

namespace cairn {

// All numbers are those of the life that failed, and count from 0; in any order, the same on all ranks. A number
// that names nothing is no error.
struct FailureTopology {
  // Application ranks, as Session::rank() said: heads have no number here. Restores do without them; an application may
  // want to know.
  std::vector<std::uint32_t> dead_ranks;
  // Nodes whose store is lost. A node has the number of its lowest rank of the world, among the nodes: the one that has
  // world rank 0 is node 0, the next is that of the lowest world rank which is not on node 0, and so on.
  std::vector<std::uint32_t> lost_nodes;
};

}  // namespace cairn
