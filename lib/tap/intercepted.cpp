#include "tap/intercepted.hpp"

#include <mpi.h>

#include "tap/hear.hpp"
#include "tap/interest.hpp"

namespace cairn::tap {
namespace {

// A program completes a generalized request itself (MPI 4.1, 13.2). MPI queries its status inside the call that waits.
int note_how_deep(void* deepest, MPI_Status* status) {
  *static_cast<int*>(deepest) = Call::nested();
  MPI_Status_set_elements(status, MPI_BYTE, 0);
  MPI_Status_set_cancelled(status, 0);
  return MPI_SUCCESS;
}
int free_nothing(void* /*deepest*/) { return MPI_SUCCESS; }
int cancel_nothing(void* /*deepest*/, int /*complete*/) { return MPI_SUCCESS; }

// Whether the tap intercepts this wait function.
bool is_seen(int (*wait)(MPI_Request*, MPI_Status*)) {
  const Unheard own;
  const Interest interest;
  int deepest = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  if (MPI_Grequest_start(note_how_deep, free_nothing, cancel_nothing, &deepest, &request) != MPI_SUCCESS) return false;
  MPI_Grequest_complete(request);
  wait(&request, MPI_STATUS_IGNORE);
  return deepest > Call::nested();
}

}  // namespace

// With Open MPI, the calls of Fortran programs arrive as PMPI_X.
bool is_intercepted() { return is_seen(MPI_Wait) && is_seen(PMPI_Wait); }

}  // namespace cairn::tap
