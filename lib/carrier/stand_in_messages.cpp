#include "carrier/stand_in_messages.hpp"

#include "mpi/mpi_request.hpp"
#include "tap/hear.hpp"

namespace cairn {

StandInMessages::~StandInMessages() {
  if (!mpi_is_running() || self_ == MPI_COMM_NULL) return;
  const tap::Unheard own;
  for (MPI_Message& message : free_) MPI_Mrecv(nullptr, 0, MPI_BYTE, &message, MPI_STATUS_IGNORE);
  MPI_Comm_free(&self_);
}

MPI_Message StandInMessages::take() {
  MPI_Message message = MPI_MESSAGE_NULL;
  if (!free_.empty()) {
    message = free_.back();
    free_.pop_back();
    return message;
  }
  const tap::Unheard own;
  if (self_ == MPI_COMM_NULL && MPI_Comm_dup(MPI_COMM_SELF, &self_) != MPI_SUCCESS) return message;
  MPI_Request sent = MPI_REQUEST_NULL;
  if (MPI_Isend(nullptr, 0, MPI_BYTE, 0, 0, self_, &sent) != MPI_SUCCESS) return message;
  MPI_Mprobe(0, 0, self_, &message, MPI_STATUS_IGNORE);
  // MPI may end it only when the message is received.
  MPI_Request_free(&sent);
  return message;
}

}  // namespace cairn
