// The calls that begin, start, complete and end requests of messages that a carrier makes.
//
// Any thread, with requests of its own.
#pragma once

#include <mpi.h>

#include <memory>
#include <optional>
#include <span>

#include "carrier/carrier_job.hpp"
#include "carrier/message_counts.hpp"
#include "carrier/message_log.hpp"
#include "carrier/open_receives.hpp"
#include "carrier/receives.hpp"
#include "carrier/request_book.hpp"
#include "carrier/sends.hpp"
#include "mpi/completion.hpp"
#include "tap/carrier.hpp"

namespace cairn {

class RequestCalls {
 public:
  RequestCalls(CarrierJob& job, MessageLog& log, RequestBook& requests, OpenReceives& open, Sends& sends,
               Receives& receives)
      : job_(job), log_(log), requests_(requests), open_(open), sends_(sends), receives_(receives), counts_(job) {}

  // As tap::Carrier has them; they return MPI's codes.
  int begin_send(const tap::OutgoingMessage& message, MPI_Request* request);
  int begin_receive(const tap::IncomingMessage& message, MPI_Request* request);
  // A request of that message: a persistent one, which is not active.
  template <class Message>
  int prepare(const Message& message, MPI_Request* request) {
    return hand_out_prepared(std::make_shared<const PreparedMessage>(message), message.comm, request);
  }
  int start(std::span<MPI_Request> requests);
  int complete(tap::Which which, std::span<MPI_Request> requests, const tap::Completed& completed);
  // Requires of these: it is one of a carrier's requests.
  int free(MPI_Request* request);
  int look_at(MPI_Request request, int* flag, MPI_Status* status);
  int cancel(MPI_Request* request);

  // The application gets a request of a message that was begun on that communicator. Returns MPI's code.
  int hand_out(const PendingMessage& pending, MPI_Comm comm, MPI_Request* request);

 private:
  enum class State { null, pending, done, lost };
  int hand_out_prepared(std::shared_ptr<const PreparedMessage> prepared, MPI_Comm comm, MPI_Request* request);
  int start(MPI_Request& request);
  [[nodiscard]] PendingMessage& mine(MPI_Request request) const;
  [[nodiscard]] State state_of(MPI_Request request);
  int finish(MPI_Request& request, MPI_Status& status);
  int take_done(Completion& completion, std::span<MPI_Request> requests, std::span<const State> states);
  bool block_in_mpi(const Completion& call, std::span<const MPI_Request> requests);
  bool wait_for(PendingMessage& pending);
  [[nodiscard]] MPI_Comm comm_of_error(std::span<const MPI_Request> requests);
  // What the call waits for that cannot end without another rank.
  [[nodiscard]] std::optional<replay::DeadlockCheck::Needs> needs_of(const Completion& call,
                                                                     std::span<const MPI_Request> requests);

  CarrierJob& job_;
  MessageLog& log_;
  RequestBook& requests_;
  OpenReceives& open_;
  Sends& sends_;
  Receives& receives_;
  MessageCounts counts_;
};

}  // namespace cairn
