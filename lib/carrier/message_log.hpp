// Logs what the application sends, notes what it receives, and gives a replacement what other ranks have logged for it.
//
// Belongs to the session's thread, but for admit().
#pragma once

#include <mpi.h>

#include <optional>

#include "carrier/carrier_job.hpp"
#include "mpi/payload.hpp"
#include "tap/carrier.hpp"

namespace cairn {

class MessageLog {
 public:
  explicit MessageLog(CarrierJob& job) : job_(job) {}

  // Any thread. A call exchanges such a message. Returns whether it is replayed after a failure. Where it cannot be,
  // that is noted, unless MPI will find an error in the arguments. `what`: the call does.
  bool admit(const Channel& channel, int peer, int tag, const char* what);

  struct Logged {
    bool is_logged = false;
    bool is_over = false;  // it need not be sent
    int code = MPI_SUCCESS;
  };
  // Any thread. Requires: the message is to a rank.
  Logged log(const tap::OutgoingMessage& message);
  // Receives a message that was shipped to this rank. Returns MPI's code; nothing: MPI has to receive it.
  std::optional<int> take_shipped(const replay::Number& number, const tap::IncomingMessage& into, MPI_Status* status);
  void note_received(const replay::Number& number, const tap::IncomingMessage& message, const MPI_Status& status);
  // Whether a datatype outlives its message without a duplicate.
  [[nodiscard]] bool is_dense(MPI_Datatype type) { return types_.dense_bytes(type) != 0; }

 private:
  CarrierJob& job_;
  DenseTypes types_;
};

}  // namespace cairn
