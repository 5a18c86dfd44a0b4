// Messages that a matched probe has found. The carrier receives each at once, into memory of its own, and the
// application gets it from there: a message that MPI has matched, but not received, would be lost in a failure, and
// later ones would take its place.
//
// Any thread.
#pragma once

#include <mpi.h>

#include <unordered_map>

#include "base/bytes.hpp"
#include "carrier/stand_in_messages.hpp"
#include "mpi/call_lock.hpp"
#include "tap/carrier.hpp"

namespace cairn {

class MatchedMessages {
 public:
  explicit MatchedMessages(bool has_threads) : lock_(has_threads) {}

  struct Matched {
    Buffer payload;
    int peer = 0;
    int tag = 0;
  };
  // What the application holds for it. MPI_MESSAGE_NULL: MPI has no more of these.
  [[nodiscard]] MPI_Message add(Matched matched);
  [[nodiscard]] bool has(MPI_Message message) const;
  [[nodiscard]] bool empty() const;
  // The application receives it; it becomes MPI_MESSAGE_NULL. Returns MPI's code. Requires: has(message).
  int receive(MPI_Message& message, const tap::IncomingMessage& into, MPI_Status* status);

 private:
  CallLock lock_;
  std::unordered_map<MPI_Message, Matched> messages_;
  StandInMessages stand_ins_;
};

}  // namespace cairn
