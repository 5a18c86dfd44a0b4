#include "door/veloc/own_mpi.hpp"

#include <mpi.h>

#include <cstdlib>

namespace cairn::door {
namespace {

// Of this process.
bool& has_own_mpi() {
  static bool has = false;
  return has;
}

void end_own_mpi() {
  int is_over = 0;
  MPI_Finalized(&is_over);
  if (is_over == 0) MPI_Finalize();
}

}  // namespace

void begin_own_mpi() {
  int is_begun = 0;
  MPI_Initialized(&is_begun);
  if (is_begun != 0) return;
  MPI_Init(nullptr, nullptr);
  has_own_mpi() = true;
}

void end_own_mpi_at_exit() {
  if (has_own_mpi()) (void)std::atexit(end_own_mpi);
}

}  // namespace cairn::door
