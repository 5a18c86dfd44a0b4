// What MPI_Init does beyond beginning MPI, for libcairn-tap.
#pragma once

namespace cairn {

// MPI has begun. In a job with [job] world = application, puts the application's world in MPI_COMM_WORLD's place, on
// all processes. Does not return on a process that does not compute, unless it takes over from a dead one. Collective
// over MPI_COMM_WORLD.
void begin_job();

}  // namespace cairn
