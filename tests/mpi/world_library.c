/* A library that knows MPI_COMM_WORLD and nothing of Cairn: it is linked with MPI alone. */
#include <mpi.h>

static MPI_Comm const kWorld = MPI_COMM_WORLD;

int count_ranks_in_library(void);

/* By a reduction over MPI_COMM_WORLD. Collective over it. */
int count_ranks_in_library(void) {
  int ranks = 1;
  MPI_Allreduce(MPI_IN_PLACE, &ranks, 1, MPI_INT, MPI_SUM, kWorld);
  return ranks;
}
