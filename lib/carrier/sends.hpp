// Sends messages of the application in MPI's place, and keeps those that MPI sends from memory of Cairn: buffered ones,
// and those that a repair sends again. If a process dies, a logged message is over: a repair sends it again to a
// receiver that does not have it.
//
// Any thread may send; the rest belongs to the session's thread.
#pragma once

#include <mpi.h>

#include <chrono>
#include <vector>

#include "base/bytes.hpp"
#include "carrier/carrier_job.hpp"
#include "carrier/message_counts.hpp"
#include "carrier/message_log.hpp"
#include "carrier/open_receives.hpp"
#include "carrier/pending_message.hpp"
#include "mpi/call_lock.hpp"
#include "tap/carrier.hpp"

namespace cairn {

class Sends {
 public:
  using Clock = std::chrono::steady_clock;

  // `open`: while there are some, no call blocks in MPI.
  Sends(CarrierJob& job, MessageLog& log, const OpenReceives& open);
  // Leaves to MPI what it has not sent: it may read that until the process ends.
  ~Sends();
  Sends(const Sends&) = delete;
  Sends& operator=(const Sends&) = delete;

  // A blocking call. Returns MPI's code.
  int send(const tap::OutgoingMessage& message);
  // A call with a request: `pending` becomes that of the message. Returns MPI's code.
  int begin(const tap::OutgoingMessage& message, PendingMessage& pending);
  // Waits until the buffered messages are sent, but not for what a repair sends again: a replacement may receive that
  // only after later calls of this rank.
  int finish_buffered();

  // After a repair: sends these again.
  void repeat(std::vector<replay::Repeated> again);
  // Forgets those that MPI has sent.
  void look();
  // Waits until then for MPI to send what it has. The rest is left to MPI.
  void finish(Clock::time_point until);

 private:
  struct UnderWay {
    MPI_Request real = MPI_REQUEST_NULL;
    Buffer payload;
    bool buffered = false;
  };
  int begin_in_mpi(const tap::OutgoingMessage& message, MPI_Request* real);
  int begin_buffered(const tap::OutgoingMessage& message);
  int send_patiently(const tap::OutgoingMessage& message);
  [[nodiscard]] bool has_buffered();

  CarrierJob& job_;
  MessageLog& log_;
  const OpenReceives& open_;
  MessageCounts counts_;
  CallLock lock_;
  std::vector<UnderWay> under_way_;
};

}  // namespace cairn
