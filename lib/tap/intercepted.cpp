#include "tap/intercepted.hpp"

#include <mpi.h>

#include "tap/hear.hpp"

namespace cairn::tap {
namespace {

// MPI asks for the status of a request that a program completes itself (MPI 4.1, 13.2) within the call that awaits it.
int note_how_deep(void* deepest, MPI_Status* status) {
  *static_cast<int*>(deepest) = Call::nested();
  MPI_Status_set_elements(status, MPI_BYTE, 0);
  MPI_Status_set_cancelled(status, 0);
  return MPI_SUCCESS;
}
int free_nothing(void* /*deepest*/) { return MPI_SUCCESS; }
int cancel_nothing(void* /*deepest*/, int /*complete*/) { return MPI_SUCCESS; }

// Whether a wait by this function is a call that the tap sees.
bool is_seen(int (*wait)(MPI_Request*, MPI_Status*)) {
  const Unheard own;
  int deepest = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  if (MPI_Grequest_start(note_how_deep, free_nothing, cancel_nothing, &deepest, &request) != MPI_SUCCESS) return false;
  MPI_Grequest_complete(request);
  wait(&request, MPI_STATUS_IGNORE);
  return deepest > Call::nested();
}

}  // namespace

// Fortran's calls come as PMPI_X with Open MPI.
bool is_intercepted() { return is_seen(MPI_Wait) && is_seen(PMPI_Wait); }

}  // namespace cairn::tap
