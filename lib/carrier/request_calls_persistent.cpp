// Persistent requests of messages that a carrier makes. Each start is a message like that of MPI_Isend or MPI_Irecv.
#include <utility>

#include "carrier/pending_message.hpp"
#include "carrier/request_calls.hpp"

namespace cairn {

int RequestCalls::hand_out_prepared(std::shared_ptr<const PreparedMessage> prepared, MPI_Comm comm,
                                    MPI_Request* request) {
  *request = requests_.add_prepared(job_.channel_of(comm), std::move(prepared));
  return *request == MPI_REQUEST_NULL ? job_.raise(MPI_ERR_NO_MEM, comm) : MPI_SUCCESS;
}

int RequestCalls::start(std::span<MPI_Request> requests) {
  (void)job_.note_caller();
  for (MPI_Request& request : requests)
    if (const int code = start(request); code != MPI_SUCCESS) return code;
  return MPI_SUCCESS;
}

int RequestCalls::start(MPI_Request& request) {
  PendingMessage* const pending = requests_.find(request);
  if (pending == nullptr) return MPI_Start(&request);
  if (!pending->prepared || pending->is_active) return job_.raise(MPI_ERR_REQUEST, job_.setting().comm);
  // MPI would still know it, but its handle may be that of another one by now.
  if (pending->channel->handle == MPI_COMM_NULL) return job_.raise(MPI_ERR_COMM, job_.setting().comm);
  PendingMessage begun;
  const auto prepared = pending->prepared;
  const int code =
      prepared->sends() ? sends_.begin(prepared->outgoing(), begun) : receives_.begin(prepared->incoming(), begun);
  if (code != MPI_SUCCESS) return code;
  requests_.start(*pending, std::move(begun));
  if (pending->is_open) open_.add(*pending);
  return MPI_SUCCESS;
}

}  // namespace cairn
