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

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/log.hpp"
#include "comm/comm.hpp"
#include "mpi/call_lock.hpp"
#include "mpi/carrier_job.hpp"
#include "mpi/channels.hpp"
#include "mpi/lifeline.hpp"
#include "mpi/message_counts.hpp"
#include "mpi/open_receives.hpp"
#include "mpi/payload.hpp"
#include "mpi/request_book.hpp"
#include "mpi/stand_in_messages.hpp"
#include "replay/deadlock_check.hpp"
#include "replay/journal.hpp"
#include "tap/carrier.hpp"

namespace cairn {

class MessageCarrier final : public tap::Carrier {
 public:
  using Setting = CarrierJob::Setting;
  MessageCarrier(Setting setting, std::shared_ptr<Lifeline> lifeline);
  ~MessageCarrier() override;
  MessageCarrier(const MessageCarrier&) = delete;
  MessageCarrier& operator=(const MessageCarrier&) = delete;

  [[nodiscard]] bool carries(MPI_Comm comm) const override { return job_.find(comm) != nullptr; }
  [[nodiscard]] MPI_Comm stand_in(MPI_Comm comm) const override { return job_.channel_of(comm).twin; }
  int send(const tap::OutgoingMessage& message) override;
  int receive(const tap::IncomingMessage& message, MPI_Status* status) override;
  int exchange(const tap::OutgoingMessage& out, const tap::IncomingMessage& in, MPI_Status* status) override;
  int begin_send(const tap::OutgoingMessage& message, MPI_Request* request) override;
  int begin_receive(const tap::IncomingMessage& message, MPI_Request* request) override;
  int prepare_send(const tap::OutgoingMessage& message, MPI_Request* request) override;
  int prepare_receive(const tap::IncomingMessage& message, MPI_Request* request) override;
  int start(std::span<MPI_Request> requests) override;
  int finish_buffered() override;
  int probe(MPI_Comm comm, int peer, int tag, int* flag, MPI_Status* status) override;
  int match(MPI_Comm comm, int peer, int tag, int* flag, MPI_Message* message, MPI_Status* status) override;
  [[nodiscard]] bool has_matched(MPI_Message message) const override;
  int receive_matched(const tap::IncomingMessage& into, MPI_Message* message, MPI_Status* status,
                      MPI_Request* request) override;
  int collective(const tap::collectives::Any& call) override;
  [[nodiscard]] bool has_any(std::span<const MPI_Request> requests) const override;
  int complete(tap::Which which, std::span<MPI_Request> requests, const tap::Completed& completed) override;
  int free(MPI_Request* request) override;
  int look_at(MPI_Request request, int* flag, MPI_Status* status) override;
  int cancel(MPI_Request* request) override;
  std::optional<int> makes_communicator(const tap::NewCommunicator& one, MPI_Comm* made,
                                        const std::function<int(MPI_Comm, MPI_Group)>& make) override;
  void frees(MPI_Comm comm) override;
  void sets_handler(MPI_Comm comm, MPI_Errhandler handler) override;
  void freed(MPI_Comm comm) override;
  int makes_other(const char* call, MPI_Comm comm) override;

  // The rank has restored, or a snapshot() call begins: no message should be under way.
  void passes_restore() { nothing_is_pending("restore()", replay::Journal::Until::end); }
  void passes_safe_point() {
    nothing_is_pending("snapshot()", replay::Journal::Until::next_snapshot);
    look_at_sends();
    drop_communicators();
  }
  // Whether several threads make calls is known only here, until this is called.
  void note_threads();
  // After a failure, once the communicators are revoked: waits until MPI has ended what was under way. Local. False: it
  // has not, so the buffers of the application may still change.
  [[nodiscard]] bool harvest();
  // The same in a call that the failure strikes. In another thread nothing: the session's thread may be amid it.
  void drain() {
    if (job_.is_session_thread()) (void)harvest();
  }
  // After a repair, before a replacement begins: makes again what the application has made of its communicator. `twin`:
  // of that one; `ranks`: the same ranks. Collective.
  [[nodiscard]] Status makes_communicators_again(Comm& ranks, MPI_Comm twin);
  // After a repair: goes on there, and sends these messages again. Local.
  void goes_on(MPI_Comm twin, MPI_Comm own, std::shared_ptr<Lifeline> lifeline, std::vector<replay::Repeated> again);

 private:
  // A communicator that is being made, by its call.
  struct Making;
  // A message that a matched probe has found.
  struct Matched {
    Buffer payload;
    int peer = 0;
    int tag = 0;
  };
  // A message that MPI sends from memory of the carrier: a buffered one, or one that a repair sends again.
  struct UnderWay {
    MPI_Request real = MPI_REQUEST_NULL;
    Buffer payload;
    bool buffered = false;
  };
  enum class State { null, pending, done, lost };

  class CollectiveMessages;
  class PatientMessages;
  [[nodiscard]] std::optional<Making> making_of(const tap::NewCommunicator& one);
  int begin_making(Making& making);
  std::optional<int> get_known(const Making& making, MPI_Comm* made);
  using Make = std::function<int(MPI_Comm, MPI_Group)>;
  int make_communicator(Making& making, MPI_Comm* made, const Make& make);
  int make_of_twin(const Making& making, const Make& make);
  int add_communicator(const Making& making, MPI_Comm made);
  int meet_patiently(const Making& making);
  int tell_keepers(Making& making, MPI_Comm graph);
  void drop_communicators();
  [[nodiscard]] bool is_replayed(const Channel& channel, int peer, int tag, const char* what);
  // Whether MPI chooses the message of a call before restore(), and that is noted.
  [[nodiscard]] bool is_choice(int peer, int tag);
  // In a replacement: the message that the dead rank got.
  [[nodiscard]] Result<tap::IncomingMessage> message_of_the_dead(const tap::IncomingMessage& message);
  int receive_any(const tap::IncomingMessage& message, MPI_Status* status);
  int probe_any(MPI_Comm comm, int peer, int tag, int* flag, MPI_Status* status);
  // Whether MPI chooses the message of a call after restore(), and that is recorded.
  [[nodiscard]] bool is_recorded(int peer, int tag);
  int begin_any(const tap::IncomingMessage& message, PendingMessage& pending);
  bool advance_open();
  bool advance_what_is_open();
  int leave_open_to_mpi(const std::string& what);
  OpenReceives::Tried try_open(PendingMessage& open);
  void becomes(PendingMessage& open, int peer, int tag);
  int probe_recorded(MPI_Comm comm, int peer, int tag, int* flag, MPI_Status* status);
  int probe_once(const Channel& channel, int peer, int tag, int* found, MPI_Status* status);
  void record_is_full();
  void note_choice(std::uint64_t choice, const tap::IncomingMessage& message, const MPI_Status& status);
  void nothing_is_pending(const char* call, replay::Journal::Until until);
  struct Logged {
    bool is_logged = false;
    bool is_over = false;  // it need not be sent
    int code = MPI_SUCCESS;
  };
  Logged log(const tap::OutgoingMessage& message);
  int begin(const tap::OutgoingMessage& message, MPI_Request* real);
  int send_patiently(const tap::OutgoingMessage& message);
  int begin_buffered(const tap::OutgoingMessage& message);
  void look_at_sends();
  [[nodiscard]] bool has_buffered();
  using Clock = std::chrono::steady_clock;
  void end_sends(Clock::time_point until);
  // message_carrier_needs.cpp
  [[nodiscard]] std::optional<replay::DeadlockCheck::Needs> needs_message(const Channel& channel, int peer, int tag);
  [[nodiscard]] std::optional<replay::DeadlockCheck::Needs> needs_of(tap::Which which,
                                                                     std::span<const MPI_Request> requests);
  void settle_what_is_over();
  int receive_by_request(const tap::IncomingMessage& message, MPI_Status* status);
  int receive_patiently(const tap::IncomingMessage& message, MPI_Status* status);
  // Takes a message that was shipped to this rank. False: it has to be received.
  bool take_shipped(const replay::Number& number, const tap::IncomingMessage& message, MPI_Status* status, int* code);
  void note_received(const replay::Number& number, const tap::IncomingMessage& message, const MPI_Status& status);

  int begin_send(const tap::OutgoingMessage& message, PendingMessage& pending);
  int begin_receive(const tap::IncomingMessage& message, PendingMessage& pending);
  int start(MPI_Request& request);
  int prepare(std::shared_ptr<const PreparedMessage> prepared, MPI_Comm comm, MPI_Request* request);
  int hand_out(const PendingMessage& pending, MPI_Comm comm, MPI_Request* request);
  int post(PendingMessage& pending);
  void settle(PendingMessage& pending, int code, const MPI_Status& status);
  // Lets MPI go on with it. False: a process has died.
  bool test(PendingMessage& pending);
  [[nodiscard]] State state_of(MPI_Request request);
  int finish(MPI_Request& request, MPI_Status* status);
  int finish_all(std::span<MPI_Request> requests, MPI_Status* statuses);
  std::optional<int> take_done(tap::Which which, std::span<MPI_Request> requests, const tap::Completed& completed,
                               std::span<const State> states);
  bool block_in_mpi(tap::Which which, std::span<const MPI_Request> requests);
  bool wait_for(PendingMessage& pending);
  [[nodiscard]] MPI_Comm comm_of_error(std::span<const MPI_Request> requests);

  CarrierJob job_;
  MessageCounts counts_;
  std::set<std::uint64_t> dropped_;           // numbers of communicators that nobody needs
  std::atomic<std::uint64_t> not_noted_ = 0;  // communicators that other threads have made
  DenseTypes types_;
  CallLock lock_;  // of dropped_, matched messages, and under_way_
  RequestBook requests_;
  OpenReceives open_;
  std::unordered_map<MPI_Message, Matched> matched_;
  StandInMessages stand_in_messages_;
  std::vector<UnderWay> under_way_;
};

}  // namespace cairn
