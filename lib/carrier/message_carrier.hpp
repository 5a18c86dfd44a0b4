// Makes the application's messages and blocking collectives on session.comm() in a job in which only the lost ranks
// roll back ([recovery] rollback = lost). It logs what is sent, notes what is received, and repeats after a failure
// what the failure has interrupted: survivors stay in their calls.
//
// The application keeps the handle of its communicator. Until the first repair the messages are on it; after a repair
// it is revoked, and they are on the communicator of the repaired world (the twin).
//
// Belongs to the session's thread. Calls of another thread are made in the same way, but not logged, and are an
// obstacle for good.
#pragma once

#include <mpi.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "carrier/carrier_job.hpp"
#include "carrier/communicator_maker.hpp"
#include "carrier/matched_messages.hpp"
#include "carrier/message_log.hpp"
#include "carrier/open_receives.hpp"
#include "carrier/receives.hpp"
#include "carrier/request_book.hpp"
#include "carrier/request_calls.hpp"
#include "carrier/sends.hpp"
#include "mpi/lifeline.hpp"
#include "mpi/logged_messages.hpp"
#include "replay/deadlock_check.hpp"
#include "replay/journal.hpp"

namespace cairn {

class MessageCarrier final : public LoggedMessages {
 public:
  using Setting = CarrierJob::Setting;
  MessageCarrier(Setting setting, std::shared_ptr<Lifeline> lifeline);
  ~MessageCarrier() override;
  MessageCarrier(const MessageCarrier&) = delete;
  MessageCarrier& operator=(const MessageCarrier&) = delete;

  [[nodiscard]] bool carries(MPI_Comm comm) const override { return job_.find(comm) != nullptr; }
  [[nodiscard]] MPI_Comm stand_in(MPI_Comm comm) const override { return job_.channel_of(comm).twin; }
  int send(const tap::OutgoingMessage& message) override { return sends_.send(message); }
  int receive(const tap::IncomingMessage& message, MPI_Status* status) override;
  int exchange(const tap::OutgoingMessage& out, const tap::IncomingMessage& in, MPI_Status* status) override;
  int begin_send(const tap::OutgoingMessage& message, MPI_Request* request) override {
    return calls_.begin_send(message, request);
  }
  int begin_receive(const tap::IncomingMessage& message, MPI_Request* request) override {
    return calls_.begin_receive(message, request);
  }
  int prepare_send(const tap::OutgoingMessage& message, MPI_Request* request) override {
    return calls_.prepare(message, request);
  }
  int prepare_receive(const tap::IncomingMessage& message, MPI_Request* request) override {
    return calls_.prepare(message, request);
  }
  int start(std::span<MPI_Request> requests) override { return calls_.start(requests); }
  int finish_buffered() override { return sends_.finish_buffered(); }
  int probe(MPI_Comm comm, int peer, int tag, int* flag, MPI_Status* status) override {
    return receives_.probe(comm, peer, tag, flag, status);
  }
  int match(MPI_Comm comm, int peer, int tag, int* flag, MPI_Message* message, MPI_Status* status) override;
  [[nodiscard]] bool has_matched(MPI_Message message) const override { return matched_.has(message); }
  int receive_matched(const tap::IncomingMessage& into, MPI_Message* message, MPI_Status* status,
                      MPI_Request* request) override;
  int collective(const tap::collectives::Any& call) override;
  [[nodiscard]] bool has_any(std::span<const MPI_Request> requests) const override {
    return requests_.has_any(requests);
  }
  int complete(tap::Which which, std::span<MPI_Request> requests, const tap::Completed& completed) override {
    return calls_.complete(which, requests, completed);
  }
  int free(MPI_Request* request) override { return calls_.free(request); }
  int look_at(MPI_Request request, int* flag, MPI_Status* status) override {
    return calls_.look_at(request, flag, status);
  }
  int cancel(MPI_Request* request) override { return calls_.cancel(request); }
  std::optional<int> makes_communicator(const tap::NewCommunicator& one, MPI_Comm* made,
                                        const std::function<int(MPI_Comm, MPI_Group)>& make) override {
    return communicators_.make(one, made, make);
  }
  void frees(MPI_Comm comm) override;
  void sets_handler(MPI_Comm comm, MPI_Errhandler handler) override;
  void freed(MPI_Comm comm) override { communicators_.freed(comm); }
  int makes_other(const tap::OtherCall& call) override;

  void passes_restore() override { nothing_is_pending("restore()", replay::Journal::Until::end); }
  void passes_safe_point() override {
    nothing_is_pending("snapshot()", replay::Journal::Until::next_snapshot);
    sends_.look();
    communicators_.drop(requests_);
  }
  void note_threads() override;
  [[nodiscard]] bool harvest() override { return end_transfers(); }
  void drain() override {
    if (job_.is_session_thread()) (void)end_transfers();
  }
  [[nodiscard]] Status make_again(Comm& ranks, MPI_Comm twin) override {
    return communicators_.make_again(ranks, twin);
  }
  void goes_on(MPI_Comm twin, MPI_Comm own, std::shared_ptr<Lifeline> lifeline) override;

 private:
  class CollectiveMessages;
  bool end_transfers();
  void nothing_is_pending(const char* call, replay::Journal::Until until);
  using Clock = std::chrono::steady_clock;

  CarrierJob job_;
  MessageLog log_;
  RequestBook requests_;
  OpenReceives open_;
  Sends sends_;
  Receives receives_;
  RequestCalls calls_;
  MatchedMessages matched_;
  CommunicatorMaker communicators_;
};

}  // namespace cairn
