#include "carrier/stand_in_requests.hpp"

#include "mpi/mpi_request.hpp"
#include "tap/hear.hpp"

namespace cairn {

StandInRequests::~StandInRequests() {
  if (!mpi_is_running()) return;
  const tap::Unheard own;
  for (MPI_Request& request : free_) MPI_Request_free(&request);
}

MPI_Request StandInRequests::take() {
  MPI_Request request = MPI_REQUEST_NULL;
  if (free_.empty()) {
    const tap::Unheard own;
    MPI_Recv_init(nullptr, 0, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_SELF, &request);
    return request;
  }
  request = free_.back();
  free_.pop_back();
  return request;
}

}  // namespace cairn
