// What a member of a communicator sends to itself. MPI may complete such a send only once it is received, as MPICH does
// in a communicator of one member, and Open MPI where the message is long; but the thread that is to receive it may be
// the very one that sends, or one that is not started yet. So a copy is sent, which is kept until MPI has done with it.
// Owned by its MpiComm. Local. Thread-safe where MPI is.
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
  // What nobody has received, and nobody will, is left to MPI.
  ~SelfMessages();
  SelfMessages(const SelfMessages&) = delete;
  SelfMessages& operator=(const SelfMessages&) = delete;

  // Does not wait for anybody. MPI's code.
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
