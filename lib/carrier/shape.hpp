// What MPI knows of a communicator's ranks: their places in a grid or graph. It is noted when the application makes
// one, and given to a communicator of the same ranks after a repair.
#pragma once

#include <mpi.h>

#include "base/error.hpp"
#include "replay/channel_book.hpp"

namespace cairn {

// Fills in grid and graph. Distributed graphs are not noted here, since MPI tells each rank only its own part.
// Requires: facts.members. Local.
void note_shape(MPI_Comm comm, replay::ChannelFacts& facts);
// Its inverse. `plain`: of the same ranks. Collective over `plain`.
[[nodiscard]] Result<MPI_Comm> give_shape(const replay::ChannelFacts& facts, MPI_Comm plain);

}  // namespace cairn
