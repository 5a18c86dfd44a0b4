// MPI in a program that does not know it: VELOC_Init_single initializes it, and the end of the process finalizes it.
#pragma once

namespace cairn::door {

// Initializes MPI, unless it is initialized. Local.
void begin_own_mpi();

// Registers that the process finalizes MPI when it exits, if begin_own_mpi() has initialized it. To be called again
// after libraries may have been used for the first time: what is registered last runs first, and the end needs them.
void end_own_mpi_at_exit();

}  // namespace cairn::door
