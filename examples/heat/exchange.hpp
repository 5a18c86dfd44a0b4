// What the ranks of heat tell each other. Every function is collective over `comm`, whose rank i of n
// holds block i of n.
#pragma once

#include <string>
#include <vector>

#include <mpi.h>

#include "plate.hpp"

namespace heat {

// Fills the rows above and below each block from the neighbours.
void exchange_halos(Plate& plate, MPI_Comm comm);

// Rank 0 writes the whole plate, block after block. Throws std::runtime_error on all ranks alike.
void write_plate(Plate& plate, const std::string& path, MPI_Comm comm);

}  // namespace heat
