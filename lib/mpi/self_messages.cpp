#include "mpi/self_messages.hpp"

#include <utility>

#include "mpi/mpi_request.hpp"
#include "tap/hear.hpp"

namespace cairn {

SelfMessages::~SelfMessages() {
  if (!mpi_is_running()) return;
  const tap::Unheard own;
  for (Sent& sent : sent_) {
    if (is_over(sent)) continue;
    MPI_Request_free(&sent.request);
    static_cast<void>(sent.message.release());
  }
}

int SelfMessages::send(MPI_Comm comm, int me, int tag, Bytes message) {
  const tap::Unheard own;
  const std::scoped_lock lock(mutex_);
  sent_.remove_if(is_over);
  Sent sent{std::make_unique<Buffer>(message.begin(), message.end())};
  const int code =
      MPI_Isend(sent.message->data(), static_cast<int>(message.size()), MPI_BYTE, me, tag, comm, &sent.request);
  if (code == MPI_SUCCESS) sent_.push_back(std::move(sent));
  return code;
}

// After an error, too.
bool SelfMessages::is_over(Sent& sent) {
  const tap::Unheard own;
  int done = 0;
  return MPI_Test(&sent.request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS || done != 0;
}

}  // namespace cairn
