/* A tool like those that people link to see their MPI calls: counts MPI_Comm_dup, and makes a communicator of its own.
 * It also says how many processes have the world in which MPI ends, as a tool that sums up its figures there.
 */
#include "other_tool.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int calls;

int other_tool_calls(void) { return calls; }

int MPI_Comm_dup(MPI_Comm comm, MPI_Comm* made) {
  MPI_Comm mine = MPI_COMM_NULL;
  ++calls;
  if (PMPI_Comm_dup(comm, &mine) == MPI_SUCCESS) PMPI_Comm_free(&mine);
  return PMPI_Comm_dup(comm, made);
}

int MPI_Finalize(void) {
  if (getenv("OTHER_TOOL_TELLS") != NULL) {
    int one = 1, all = 0, rank = 0;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PMPI_Reduce(&one, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) printf("other_tool: the end of %d\n", all);
  }
  return PMPI_Finalize();
}
