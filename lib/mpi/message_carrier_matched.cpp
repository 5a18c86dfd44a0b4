// Matched probes of a carrier: see MatchedMessages.
#include <utility>

#include "mpi/message_carrier.hpp"
#include "mpi/payload.hpp"

namespace cairn {

int MessageCarrier::match(MPI_Comm comm, int peer, int tag, int* flag, MPI_Message* message, MPI_Status* status) {
  // Of several threads, another one might receive the message that this one has found.
  if (peer == MPI_PROC_NULL || !job_.note_caller()) {
    const MPI_Comm twin = job_.channel_of(comm).twin;
    return flag == nullptr ? MPI_Mprobe(peer, tag, twin, message, status)
                           : MPI_Improbe(peer, tag, twin, flag, message, status);
  }
  MPI_Status found{};
  if (const int code = probe(comm, peer, tag, flag, &found); code != MPI_SUCCESS) return code;
  if (flag != nullptr && *flag == 0) return MPI_SUCCESS;
  MPI_Count bytes = 0;
  MPI_Get_elements_x(&found, MPI_BYTE, &bytes);
  MatchedMessages::Matched matched{Buffer(static_cast<std::size_t>(bytes)), found.MPI_SOURCE, found.MPI_TAG};
  const tap::IncomingMessage in{.buffer = matched.payload.data(),
                                .count = bytes,
                                .type = MPI_BYTE,
                                .peer = matched.peer,
                                .tag = matched.tag,
                                .comm = comm};
  if (const int code = receive(in, MPI_STATUS_IGNORE); code != MPI_SUCCESS) return code;
  *message = matched_.add(std::move(matched));
  if (*message == MPI_MESSAGE_NULL) return job_.raise(MPI_ERR_NO_MEM, comm);
  if (status != MPI_STATUS_IGNORE) *status = found;
  return MPI_SUCCESS;
}

int MessageCarrier::receive_matched(const tap::IncomingMessage& into, MPI_Message* message, MPI_Status* status,
                                    MPI_Request* request) {
  PendingMessage received;
  received.code = matched_.receive(*message, into, &received.status);
  if (request != nullptr) {
    received.channel = &job_.channels().session();
    received.done = true;
    return hand_out(received, job_.setting().comm, request);
  }
  if (status != MPI_STATUS_IGNORE) *status = received.status;
  return received.code == MPI_SUCCESS ? MPI_SUCCESS : job_.raise(received.code, job_.setting().comm);
}

}  // namespace cairn
