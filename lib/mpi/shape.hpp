// What MPI knows of a communicator's ranks: their places in a grid or graph, or two groups. It is noted when the
// application makes one, and given to a communicator of the same ranks after a repair.
#pragma once

#include <mpi.h>

#include <functional>
#include <vector>

#include "base/error.hpp"
#include "replay/channel_book.hpp"

namespace cairn {

// Fills in grid, graph and groups. Distributed graphs are not noted here, since MPI tells each rank only its own part.
// Requires: facts.members. Local.
void note_shape(MPI_Comm comm, replay::ChannelFacts& facts);
// Its inverse. `plain`: of the same ranks; of an intercommunicator, one group after the other. `adopts`: a communicator
// to be revoked after a failure. Collective over `plain`.
[[nodiscard]] Result<MPI_Comm> give_shape(const replay::ChannelFacts& facts, MPI_Comm plain,
                                          const std::function<void(MPI_Comm)>& adopts);

// This rank's neighbours in a distributed graph. Local.
[[nodiscard]] replay::Neighbourhood neighbourhood_in(MPI_Comm graph);
// Its inverse: `graph` is of the same ranks as `plain`. Collective. Returns MPI's code.
int make_distributed_graph(const replay::Neighbourhood& mine, MPI_Comm plain, MPI_Comm* graph);

}  // namespace cairn
