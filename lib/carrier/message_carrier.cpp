#include "carrier/message_carrier.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "comm/backoff.hpp"
#include "mpi/copied_message.hpp"
#include "mpi/failure_handler.hpp"
#include "mpi/place_in.hpp"
#include "tap/hear.hpp"

namespace cairn {
namespace {

using replay::Journal;
using tap::IncomingMessage;
using tap::OutgoingMessage;

constexpr std::chrono::milliseconds kLongestHarvest{10'000};

// Whether calls on this communicator, which is not carried, meet no other rank.
bool is_alone_in(MPI_Comm comm) { return !has_two_groups(comm) && size_of(comm) == 1; }

}  // namespace

MessageCarrier::MessageCarrier(Setting setting, std::shared_ptr<Lifeline> lifeline)
    : job_(std::move(setting), std::move(lifeline)),
      log_(job_),
      requests_(job_.setting().has_threads),
      sends_(job_, log_, open_),
      receives_(job_, log_, requests_, open_),
      calls_(job_, log_, requests_, open_, sends_, receives_),
      matched_(job_.setting().has_threads),
      communicators_(job_) {
  job_.hold_receives({.advance = [this] { return receives_.advance_open(); },
                      .leave_to_mpi = [this](const std::string& what) { return receives_.leave_open_to_mpi(what); }});
}

// Nothing of the application's memory is touched after this.
MessageCarrier::~MessageCarrier() {
  if (job_.lifeline().is_cut())
    (void)end_transfers();
  else
    sends_.finish(Clock::now() + kLongestHarvest);
}

void MessageCarrier::sets_handler(MPI_Comm comm, MPI_Errhandler handler) {
  const Channel* const channel = job_.find(comm);
  if (channel != nullptr && channel->twin != comm && channel->twin != MPI_COMM_NULL)
    MPI_Comm_set_errhandler(channel->twin, handler);
}

int MessageCarrier::receive(const IncomingMessage& m, MPI_Status* status) {
  if (m.peer != MPI_PROC_NULL) (void)job_.note_caller();
  if (!receives_.needs_request(m)) return receives_.receive(m, status);
  MPI_Request request = MPI_REQUEST_NULL;
  const int code = begin_receive(m, &request);
  return code == MPI_SUCCESS ? complete(tap::Which::one, {&request, 1}, {.statuses = status}) : code;
}

// Where both messages are in the same buffer, the one to be sent is copied first.
int MessageCarrier::exchange(const OutgoingMessage& out, const IncomingMessage& in, MPI_Status* status) {
  std::optional<CopiedMessage> copied;
  if (out.buffer == in.buffer && out.count > 0 && out.peer != MPI_PROC_NULL) {
    copied = CopiedMessage::of(out);
    if (!copied) return job_.raise(MPI_ERR_TYPE, out.comm);
  }
  MPI_Request request = MPI_REQUEST_NULL;
  if (const int code = begin_send(copied ? copied->message : out, &request); code != MPI_SUCCESS) return code;
  const int received = receive(in, status);
  const int over = complete(tap::Which::one, {&request, 1}, {.statuses = MPI_STATUS_IGNORE});
  return received == MPI_SUCCESS ? over : received;
}

int MessageCarrier::match(MPI_Comm comm, int peer, int tag, int* flag, MPI_Message* message, MPI_Status* status) {
  // Of several threads, another one might receive the message that this one has found.
  if (peer == MPI_PROC_NULL || !job_.note_caller()) {
    const MPI_Comm twin = job_.channel_of(comm).twin;
    return flag == nullptr ? MPI_Mprobe(peer, tag, twin, message, status)
                           : MPI_Improbe(peer, tag, twin, flag, message, status);
  }
  MPI_Status found{};
  if (const int code = probe(comm, peer, tag, flag, &found); code != MPI_SUCCESS) return code;
  if (flag != nullptr && *flag == 0) return MPI_SUCCESS;
  MPI_Count bytes = 0;
  MPI_Get_elements_x(&found, MPI_BYTE, &bytes);
  MatchedMessages::Matched matched{Buffer(static_cast<std::size_t>(bytes)), found.MPI_SOURCE, found.MPI_TAG};
  const tap::IncomingMessage in{.buffer = matched.payload.data(),
                                .count = bytes,
                                .type = MPI_BYTE,
                                .peer = matched.peer,
                                .tag = matched.tag,
                                .comm = comm};
  if (const int code = receive(in, MPI_STATUS_IGNORE); code != MPI_SUCCESS) return code;
  *message = matched_.add(std::move(matched));
  if (*message == MPI_MESSAGE_NULL) return job_.raise(MPI_ERR_NO_MEM, comm);
  if (status != MPI_STATUS_IGNORE) *status = found;
  return MPI_SUCCESS;
}

int MessageCarrier::receive_matched(const tap::IncomingMessage& into, MPI_Message* message, MPI_Status* status,
                                    MPI_Request* request) {
  PendingMessage received;
  received.code = matched_.receive(*message, into, &received.status);
  if (request != nullptr) {
    received.channel = &job_.channels().session();
    received.done = true;
    return calls_.hand_out(received, job_.setting().comm, request);
  }
  if (status != MPI_STATUS_IGNORE) *status = received.status;
  return received.code == MPI_SUCCESS ? MPI_SUCCESS : job_.raise(received.code, job_.setting().comm);
}

// MPI completes what is under way on it.
void MessageCarrier::frees(MPI_Comm comm) {
  if (!carries(comm) || !job_.note_caller()) return;
  if (open_.has_of(comm)) (void)receives_.leave_open_to_mpi("frees a communicator");
}

int MessageCarrier::makes_other(const tap::OtherCall& call) {
  if (!call.reaches_others && call.comm != MPI_COMM_NULL &&
      (call.comm == MPI_COMM_SELF || (!carries(call.comm) && is_alone_in(call.comm))))
    return MPI_SUCCESS;
  if (!job_.note_caller()) return MPI_SUCCESS;
  const Journal& journal = job_.journal();
  const bool early = !journal.is_started();
  const std::string what = fmt::format("{} calls {}{}", job_.my_name(), call.name, early ? " before restore()" : "");
  // The others do not take part: they have been here before, or come here only later.
  if ((early && journal.is_replacement()) || journal.catches_up()) return job_.rolls_back(what);
  job_.obstructs(what, early || call.lasts ? Journal::Until::end : Journal::Until::next_snapshot);
  return receives_.leave_open_to_mpi(fmt::format("calls {}", call.name));
}

void MessageCarrier::note_threads() {
  if (job_.has_other_threads())
    job_.obstructs(fmt::format("{} exchanges messages from several threads", job_.my_name()), Journal::Until::end);
}

void MessageCarrier::nothing_is_pending(const char* call, Journal::Until until) {
  note_threads();
  const std::size_t count = requests_.active();
  if (count > 0)
    job_.obstructs(fmt::format("{} calls {} while it has {} pending requests", job_.my_name(), call, count), until);
  if (!matched_.empty())
    job_.obstructs(fmt::format("{} calls {} between MPI_Mprobe and MPI_Mrecv", job_.my_name(), call), until);
}

bool MessageCarrier::end_transfers() {
  const tap::Unheard own;
  const FailureHandler::Quiet quiet;
  const auto start = Clock::now();
  const auto in_time = [start](std::chrono::milliseconds limit) { return Clock::now() < start + limit; };
  bool all = true;
  for (PendingMessage* const pending : requests_.in_order()) {
    Backoff backoff;
    const auto limit = pending->sends ? kLongestHarvest : std::max(kLongestHarvest, job_.setting().limit);
    while (!pending->done && pending->real != MPI_REQUEST_NULL && receives_.test(*pending) && !pending->done &&
           in_time(limit))
      backoff.sleep_a_little();
    const bool over = pending->done || pending->real == MPI_REQUEST_NULL;
    if (!over && !pending->sends && !in_time(limit)) end_for_late_message(job_.setting().log, limit);
    all = all && over;
  }
  sends_.finish(start + kLongestHarvest);
  return all;
}

void MessageCarrier::goes_on(MPI_Comm twin, MPI_Comm own, std::shared_ptr<Lifeline> lifeline) {
  const tap::Unheard unheard;
  const FailureHandler::Quiet quiet;
  job_.goes_on(twin, own, std::move(lifeline));
  for (PendingMessage* const pending : requests_.in_order()) {
    if (pending->done || pending->is_open) continue;
    // A send is in the log, and so among those to be sent again, or its receiver has it. If a process dies here, the
    // next call on the twin finds it.
    if (pending->sends)
      pending->done = true;
    else
      (void)receives_.post(*pending);
  }
  sends_.repeat(job_.setting().repeats());
}

}  // namespace cairn
