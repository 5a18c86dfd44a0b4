// What a member of a communicator sends to itself. MPI may complete such a send only once it is received, as MPICH does
// in a communicator of one member, and Open MPI for a long message. But the thread that has to receive it may be the
// one that sends, or may not have started yet. So a copy is sent, and kept until MPI no longer needs it. Owned by its
// MpiComm. Local. Thread-safe where MPI is.
#pragma once

#include <mpi.h>

#include <list>
#include <memory>
#include <mutex>

#include "base/bytes.hpp"

namespace cairn {

class SelfMessages {
 public:
  SelfMessages() = default;
  // Messages that nobody will receive any more are left to MPI.
  ~SelfMessages();
  SelfMessages(const SelfMessages&) = delete;
  SelfMessages& operator=(const SelfMessages&) = delete;

  // Does not wait. Returns MPI's code.
  [[nodiscard]] int send(MPI_Comm comm, int me, int tag, Bytes message);

 private:
  struct Sent {
    std::unique_ptr<Buffer> message;
    MPI_Request request = MPI_REQUEST_NULL;
  };
  [[nodiscard]] static bool is_over(Sent& sent);

  std::mutex mutex_;
  std::list<Sent> sent_;
};

}  // namespace cairn
