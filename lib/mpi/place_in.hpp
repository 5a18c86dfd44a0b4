// A process's place in a communicator. Local.
#pragma once

#include <mpi.h>

namespace cairn {

[[nodiscard]] inline int size_of(MPI_Comm comm) {
  int size = 0;
  MPI_Comm_size(comm, &size);
  return size;
}

[[nodiscard]] inline int rank_in(MPI_Comm comm) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  return rank;
}

// Whether it is an intercommunicator.
[[nodiscard]] inline bool has_two_groups(MPI_Comm comm) {
  int has_two = 0;
  MPI_Comm_test_inter(comm, &has_two);
  return has_two != 0;
}

}  // namespace cairn
