/* A tool like those that people link to see their MPI calls: counts MPI_Comm_dup, and makes a communicator of its own.
 */
#include "other_tool.h"

#include <mpi.h>

static int calls;

int other_tool_calls(void) { return calls; }

int MPI_Comm_dup(MPI_Comm comm, MPI_Comm* made) {
  MPI_Comm mine = MPI_COMM_NULL;
  ++calls;
  if (PMPI_Comm_dup(comm, &mine) == MPI_SUCCESS) PMPI_Comm_free(&mine);
  return PMPI_Comm_dup(comm, made);
}
