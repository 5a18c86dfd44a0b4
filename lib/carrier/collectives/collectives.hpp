// Blocking collectives made of messages, in an order that depends on nothing but the arguments and the number of ranks.
// So their results have the same bits whenever a rank repeats them, and on all ranks that get the same result. Each has
// the arguments of MPI's call of its name.
//
// Collective. Throws Failed.
#pragma once

#include "carrier/collectives/messages.hpp"
#include "tap/collectives.hpp"

namespace cairn::collectives {

void make(const tap::collectives::Barrier& call, Messages& messages);
void make(const tap::collectives::Bcast& call, Messages& messages);
void make(const tap::collectives::Gather& call, Messages& messages);
void make(const tap::collectives::Gatherv& call, Messages& messages);
void make(const tap::collectives::Scatter& call, Messages& messages);
void make(const tap::collectives::Scatterv& call, Messages& messages);
void make(const tap::collectives::Allgather& call, Messages& messages);
void make(const tap::collectives::Allgatherv& call, Messages& messages);
void make(const tap::collectives::Alltoall& call, Messages& messages);
void make(const tap::collectives::Alltoallv& call, Messages& messages);
void make(const tap::collectives::Alltoallw& call, Messages& messages);
void make(const tap::collectives::Reduce& call, Messages& messages);
void make(const tap::collectives::Allreduce& call, Messages& messages);
void make(const tap::collectives::Reduce_scatter_block& call, Messages& messages);
void make(const tap::collectives::Reduce_scatter& call, Messages& messages);
void make(const tap::collectives::Scan& call, Messages& messages);
void make(const tap::collectives::Exscan& call, Messages& messages);
void make(const tap::collectives::Neighbor_allgather& call, Messages& messages);
void make(const tap::collectives::Neighbor_allgatherv& call, Messages& messages);
void make(const tap::collectives::Neighbor_alltoall& call, Messages& messages);
void make(const tap::collectives::Neighbor_alltoallv& call, Messages& messages);
void make(const tap::collectives::Neighbor_alltoallw& call, Messages& messages);

}  // namespace cairn::collectives
