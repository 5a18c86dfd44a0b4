// Persistent requests of messages that a carrier makes. Each start is a message like that of MPI_Isend or MPI_Irecv.
#include <utility>

#include "mpi/message_carrier.hpp"
#include "mpi/payload.hpp"
#include "mpi/prepared_message.hpp"

namespace cairn {

MessageCarrier::Pending MessageCarrier::not_active(const Pending& of) {
  Pending idle;
  idle.channel = of.channel;
  idle.prepared = of.prepared;
  idle.is_active = false;
  idle.done = true;
  fill_status(&idle.status, MPI_ANY_SOURCE, MPI_ANY_TAG, 0);
  return idle;
}

int MessageCarrier::prepare(std::shared_ptr<const Prepared> prepared, MPI_Comm comm, MPI_Request* request) {
  Pending pending;
  pending.channel = &job_.channel_of(comm);
  pending.prepared = std::move(prepared);
  return hand_out(not_active(pending), comm, request);
}

int MessageCarrier::prepare_send(const tap::OutgoingMessage& message, MPI_Request* request) {
  return prepare(std::make_shared<const Prepared>(message), message.comm, request);
}

int MessageCarrier::prepare_receive(const tap::IncomingMessage& message, MPI_Request* request) {
  return prepare(std::make_shared<const Prepared>(message), message.comm, request);
}

int MessageCarrier::start(std::span<MPI_Request> requests) {
  (void)job_.note_caller();
  for (MPI_Request& request : requests)
    if (const int code = start(request); code != MPI_SUCCESS) return code;
  return MPI_SUCCESS;
}

int MessageCarrier::start(MPI_Request& request) {
  Pending* const pending = find(request);
  if (pending == nullptr) return MPI_Start(&request);
  if (!pending->prepared || pending->is_active) return job_.raise(MPI_ERR_REQUEST, job_.setting().comm);
  // MPI would still know it, but its handle may be that of another one by now.
  if (pending->channel->handle == MPI_COMM_NULL) return job_.raise(MPI_ERR_COMM, job_.setting().comm);
  Pending begun;
  const auto prepared = pending->prepared;
  const int code =
      prepared->sends() ? begin_send(prepared->outgoing(), begun) : begin_receive(prepared->incoming(), begun);
  if (code != MPI_SUCCESS) return code;
  const auto guard = lock_.hold();
  begun.prepared = prepared;
  begun.order = posted_++;
  *pending = begun;
  if (pending->is_open) open_[pending->order] = pending;
  return MPI_SUCCESS;
}

}  // namespace cairn
