// Receives messages of the application in MPI's place, and probes for them. What MPI chooses is recorded before the
// application can see it, so that a replacement gets the same messages: before restore() in the prologue
// (receives_before_restore.cpp), afterwards among the journal's choices (receives_of_any.cpp).
//
// Belongs to the session's thread. Calls of another thread are made in the same way, but not logged.
#pragma once

#include <mpi.h>

#include <optional>
#include <string>

#include "carrier/carrier_job.hpp"
#include "carrier/message_counts.hpp"
#include "carrier/message_log.hpp"
#include "carrier/open_receives.hpp"
#include "carrier/pending_message.hpp"
#include "carrier/request_book.hpp"
#include "tap/carrier.hpp"

namespace cairn {

class Receives {
 public:
  // `requests`: those of the application, of which a wait settles what is over.
  Receives(CarrierJob& job, MessageLog& log, RequestBook& requests, OpenReceives& open)
      : job_(job), log_(log), requests_(requests), open_(open), counts_(job) {}

  // Whether a blocking receive has to be made with a request, since MPI must not choose its message yet. Requires: the
  // caller is noted.
  [[nodiscard]] bool needs_request(const tap::IncomingMessage& message) const;
  // A blocking call. Returns MPI's code. Requires: not needs_request(message).
  int receive(const tap::IncomingMessage& message, MPI_Status* status);
  // A call with a request: `pending` becomes that of the message. Returns MPI's code.
  int begin(const tap::IncomingMessage& message, PendingMessage& pending);
  // Null `flag`: waits for a message.
  int probe(MPI_Comm comm, int peer, int tag, int* flag, MPI_Status* status);

  // Gives the message to MPI. Returns its code.
  int post(PendingMessage& pending);
  // Lets MPI go on with it. False: a process has died.
  bool test(PendingMessage& pending);
  // MPI has ended it with that code.
  void settle(PendingMessage& pending, int code, const MPI_Status& status);
  // The counts are to have what MPI has ended, though the application has not asked for it.
  void settle_what_is_over();

  // MPI makes progress with all messages in each call, so open receives do, too. False: a process has died.
  bool advance_open();
  // This rank is about to do what has MPI wait, which knows nothing of open receives: from now on they are MPI's. It
  // then chooses the messages, and nobody records that. Returns MPI's code.
  int leave_open_to_mpi(const std::string& what);

 private:
  int receive_logged(const tap::IncomingMessage& message, MPI_Status* status);
  int receive_patiently(const tap::IncomingMessage& message, MPI_Status* status);
  // Requires: the call waits for one message that no request of the application gets.
  [[nodiscard]] std::optional<replay::DeadlockCheck::Needs> needs_message(const Channel& channel, int peer, int tag);
  int probe_named(MPI_Comm comm, int peer, int tag, int* flag, MPI_Status* status);

  // Before restore(): whether MPI chooses the message of a call, and that is noted.
  [[nodiscard]] bool is_choice(int peer, int tag) const;
  // In a replacement: the message that the dead rank got.
  [[nodiscard]] Result<tap::IncomingMessage> message_of_the_dead(const tap::IncomingMessage& message);
  int receive_any(const tap::IncomingMessage& message, MPI_Status* status);
  int probe_any(MPI_Comm comm, int peer, int tag, int* flag, MPI_Status* status);
  void note_choice(std::uint64_t choice, const tap::IncomingMessage& message, const MPI_Status& status);

  // After restore(): the same, and that is recorded.
  [[nodiscard]] bool is_recorded(int peer, int tag) const;
  int begin_any(const tap::IncomingMessage& message, PendingMessage& pending);
  OpenReceives::Tried try_open(PendingMessage& open);
  void becomes(PendingMessage& open, int peer, int tag);
  int probe_recorded(MPI_Comm comm, int peer, int tag, int* flag, MPI_Status* status);
  int probe_once(const Channel& channel, int peer, int tag, int* found, MPI_Status* status);
  void record_is_full();

  CarrierJob& job_;
  MessageLog& log_;
  RequestBook& requests_;
  OpenReceives& open_;
  MessageCounts counts_;
};

}  // namespace cairn
