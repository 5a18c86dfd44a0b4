// What a failure took, as the MPI recovery layer or an operator knows it. A hint: it spares waiting for and
// planning on stores that are gone; what is read is verified all the same, and a wrong hint costs time only.
#pragma once

#include <cstdint>
#include <vector>

namespace cairn {

struct FailureTopology {
  std::vector<std::uint32_t> dead_ranks;  // application ranks
  std::vector<std::uint32_t> lost_nodes;  // nodes whose store is lost, as numbered in the life that failed
};

}  // namespace cairn
