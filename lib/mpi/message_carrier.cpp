#include "mpi/message_carrier.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "codec/crc32c.hpp"
#include "mpi/copied_message.hpp"
#include "mpi/failure_handler.hpp"
#include "mpi/patience.hpp"
#include "mpi/payload.hpp"
#include "mpi/place_in.hpp"
#include "mpi/repair_calls.hpp"
#include "mpi/ulfm.hpp"
#include "mpi/whole_count.hpp"
#include "tap/hear.hpp"

namespace cairn {
namespace {

using replay::Journal;
using replay::Number;
using tap::IncomingMessage;
using tap::OutgoingMessage;

constexpr std::chrono::milliseconds kLongestHarvest{10'000};

// Whether the call meets processes that are not in its communicator.
bool reaches_other_processes(std::string_view call) {
  return call.starts_with("MPI_Comm_spawn") || call == "MPI_Comm_accept" || call == "MPI_Comm_connect" ||
         call == "MPI_Comm_join" || call.starts_with("MPI_Intercomm_create");
}

// Whether calls on this communicator, which is not carried, meet no other rank.
bool is_alone_in(MPI_Comm comm) { return !has_two_groups(comm) && size_of(comm) == 1; }

// Whether the call makes something that the application may use after the next snapshot, and that a replacement would
// lack.
bool makes_something_that_lasts(std::string_view call, MPI_Comm comm) {
  const auto has = [&](std::string_view part) { return call.find(part) != std::string_view::npos; };
  if (comm == MPI_COMM_NULL) return call != "MPI_Mrecv" && call != "MPI_Imrecv" && call != "MPI_Cancel";
  return has("_Comm_") || has("_Win_") || has("_File_") || has("_Cart_") || has("_Graph_") || has("_graph_") ||
         has("_Intercomm_") || has("_init");
}

}  // namespace

MessageCarrier::MessageCarrier(Setting setting, std::shared_ptr<Lifeline> lifeline)
    : job_(std::move(setting), std::move(lifeline)),
      counts_(job_),
      lock_(job_.setting().has_threads),
      requests_(job_.setting().has_threads) {
  job_.hold_receives({.advance = [this] { return advance_what_is_open(); },
                      .leave_to_mpi = [this](const std::string& what) { return leave_open_to_mpi(what); }});
}

// Nothing of the application's memory is touched after this.
MessageCarrier::~MessageCarrier() {
  if (job_.lifeline().is_cut())
    (void)harvest();
  else
    end_sends(Clock::now() + kLongestHarvest);
}

void MessageCarrier::sets_handler(MPI_Comm comm, MPI_Errhandler handler) {
  const Channel* const channel = job_.find(comm);
  if (channel != nullptr && channel->twin != comm && channel->twin != MPI_COMM_NULL)
    MPI_Comm_set_errhandler(channel->twin, handler);
}

bool MessageCarrier::is_replayed(const Channel& channel, int peer, int tag, const char* what) {
  if (!job_.note_caller()) return false;
  if (peer == MPI_ANY_SOURCE || tag == MPI_ANY_TAG) {
    const std::string call = fmt::format("{} {} from any rank or with any tag", job_.my_name(), what);
    job_.obstructs(call, Journal::Until::next_snapshot);
    // Its messages were shipped, so they do not come.
    if (job_.journal().catches_up()) (void)job_.rolls_back(call);
    return false;
  }
  // MPI raises the error of a wrong argument.
  return peer >= 0 && peer < channel.size() && (tag >= 0 || tag == replay::kCollectiveTag);
}

MessageCarrier::Logged MessageCarrier::log(const OutgoingMessage& m) {
  const Channel& channel = job_.channel_of(m.comm);
  if (!is_replayed(channel, m.peer, m.tag, "sends a message")) return {};
  const auto payload = Payload::of(m.buffer, m.count, m.type, MPI_COMM_SELF, types_);
  if (!payload) {
    job_.obstructs(fmt::format("{} sends a message that cannot be logged", job_.my_name()),
                   Journal::Until::next_snapshot);
    return {};
  }
  const auto out = job_.journal().sends(channel.stream(m.peer, m.tag), payload->bytes());
  if (!out) return {.is_over = true, .code = job_.rolls_back(out.error())};
  if (!out->must_send) return {.is_over = true};
  if (!out->is_logged) {
    job_.journal().cut_what_is_void();
    job_.obstructs(*job_.journal().obstacle(), Journal::Until::next_snapshot);
  }
  return {.is_logged = out->is_logged};
}

// If a process dies, a logged message is over: the repair sends or ships it. No other rank reads the application's
// buffer after that, since each has ended its receives before all go on.
int MessageCarrier::send(const OutgoingMessage& m) {
  if (m.peer == MPI_PROC_NULL) return MPI_SUCCESS;
  const Logged logged = log(m);
  if (logged.is_over) return logged.code;
  const int code = FailureHandler::quietly([&] {
    if (m.buffered) return begin_buffered(m);
    if (job_.is_patient() || !open_.empty()) return send_patiently(m);
    const WholeCount all(m.count, m.type);
    const Channel::Way way = job_.channel_of(m.comm).way(m.tag);
    return m.synchronous ? MPI_Ssend(m.buffer, all.count(), all.type(), m.peer, way.tag, way.comm)
                         : MPI_Send(m.buffer, all.count(), all.type(), m.peer, way.tag, way.comm);
  });
  return job_.after(code, m.comm).value_or(logged.is_logged ? MPI_SUCCESS : MPI_ERR_OTHER);
}

int MessageCarrier::send_patiently(const OutgoingMessage& m) {
  MPI_Request real = MPI_REQUEST_NULL;
  if (const int code = begin(m, &real); code != MPI_SUCCESS) return code;
  const auto need = counts_.receiver(job_.channel_of(m.comm), m.peer, m.tag);
  return wait_patiently(job_, real, MPI_STATUS_IGNORE,
                        [&] { return need ? std::optional(replay::DeadlockCheck::Needs{*need}) : std::nullopt; });
}

int MessageCarrier::begin(const OutgoingMessage& m, MPI_Request* real) {
  const WholeCount all(m.count, m.type);
  const Channel& channel = job_.channel_of(m.comm);
  const Channel::Way way = channel.way(m.tag);
  const int code = m.synchronous ? MPI_Issend(m.buffer, all.count(), all.type(), m.peer, way.tag, way.comm, real)
                                 : MPI_Isend(m.buffer, all.count(), all.type(), m.peer, way.tag, way.comm, real);
  if (code == MPI_SUCCESS) counts_.sent(channel, m.peer, m.tag);
  return code;
}

int MessageCarrier::receive_by_request(const IncomingMessage& m, MPI_Status* status) {
  MPI_Request request = MPI_REQUEST_NULL;
  const int code = begin_receive(m, &request);
  return code == MPI_SUCCESS ? complete(tap::Which::one, {&request, 1}, {.statuses = status}) : code;
}

int MessageCarrier::receive(const IncomingMessage& m, MPI_Status* status) {
  if (is_choice(m.peer, m.tag)) return receive_any(m, status);
  if (is_recorded(m.peer, m.tag)) return receive_by_request(m, status);
  const Channel& channel = job_.channel_of(m.comm);
  const Channel::Way way = channel.way(m.tag);
  const WholeCount all(m.count, m.type);
  if (m.peer == MPI_PROC_NULL || !is_replayed(channel, m.peer, m.tag, "receives a message"))
    return MPI_Recv(m.buffer, all.count(), all.type(), m.peer, way.tag, way.comm, status);
  if (open_.is_behind(channel, m.peer, m.tag)) return receive_by_request(m, status);
  const Number number = job_.journal().awaits(channel.stream(m.peer, m.tag));
  while (true) {
    int code = MPI_SUCCESS;
    if (take_shipped(number, m, status, &code)) return code;
    MPI_Status mine{};
    code = FailureHandler::quietly([&] {
      if (job_.is_patient() || !open_.empty()) return receive_patiently(m, &mine);
      const Channel::Way here = channel.way(m.tag);  // after a repair it is another
      return MPI_Recv(m.buffer, all.count(), all.type(), m.peer, here.tag, here.comm, &mine);
    });
    if (code == MPI_SUCCESS) {
      note_received(number, m, mine);
      if (status != MPI_STATUS_IGNORE) *status = mine;
      return code;
    }
    if (const auto result = job_.after(code, m.comm)) return *result;
  }
}

bool MessageCarrier::take_shipped(const Number& number, const IncomingMessage& m, MPI_Status* status, int* code) {
  const auto payload = job_.journal().shipped(number);
  if (!payload) {
    *code = job_.rolls_back(payload.error());
    return true;
  }
  if (!*payload) return false;
  *code = put_payload(**payload, m.peer, m.tag, m.buffer, m.count, m.type, MPI_COMM_SELF, status);
  job_.journal().received(number, {(*payload)->size(), crc32c(**payload)});
  if (*code != MPI_SUCCESS) (void)job_.raise(*code, m.comm);
  return true;
}

int MessageCarrier::receive_patiently(const IncomingMessage& m, MPI_Status* status) {
  MPI_Request real = MPI_REQUEST_NULL;
  const Channel& channel = job_.channel_of(m.comm);
  const Channel::Way way = channel.way(m.tag);
  const WholeCount all(m.count, m.type);
  if (const int code = MPI_Irecv(m.buffer, all.count(), all.type(), m.peer, way.tag, way.comm, &real);
      code != MPI_SUCCESS)
    return code;
  counts_.posted(channel, m.peer, m.tag);
  const int code = wait_patiently(job_, real, status, [&] { return needs_message(channel, m.peer, m.tag); });
  if (code == MPI_SUCCESS || !job_.is_of_failure(code)) counts_.received(channel, m.peer, m.tag);
  return code;
}

void MessageCarrier::note_received(const Number& number, const IncomingMessage& m, const MPI_Status& status) {
  const auto payload = Payload::received(m.buffer, m.type, status, MPI_COMM_SELF, types_);
  if (!payload)
    return job_.obstructs(fmt::format("{} receives a part of an element from rank {}", job_.my_name(), m.peer),
                          Journal::Until::next_snapshot);
  job_.journal().received(number, {payload->bytes().size(), crc32c(payload->bytes())});
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

int MessageCarrier::probe(MPI_Comm comm, int peer, int tag, int* flag, MPI_Status* status) {
  if (is_choice(peer, tag)) return probe_any(comm, peer, tag, flag, status);
  if (is_recorded(peer, tag)) return probe_recorded(comm, peer, tag, flag, status);
  const Channel& channel = job_.channel_of(comm);
  const bool replayed = peer != MPI_PROC_NULL && is_replayed(channel, peer, tag, "probes for a message");
  Patience patience(job_, [&] { return needs_message(channel, peer, tag); });
  while (true) {
    if (replayed && !open_.empty()) (void)advance_open();
    if (replayed) {
      const auto bytes = job_.journal().next_shipped(channel.stream(peer, tag));
      if (!bytes) return job_.rolls_back(bytes.error());
      if (*bytes) {
        fill_status(status, peer, tag, static_cast<MPI_Count>(**bytes));
        if (flag != nullptr) *flag = 1;
        return MPI_SUCCESS;
      }
    }
    int found = 0;
    const int code = FailureHandler::quietly([&] {
      return replayed ? probe_once(channel, peer, tag, &found, status)
                      : MPI_Iprobe(peer, tag, channel.twin, &found, status);
    });
    const bool goes_on = code == MPI_SUCCESS && (found != 0 || patience.looks());
    if (goes_on && (found != 0 || flag != nullptr)) {
      if (flag != nullptr) *flag = found;
      return MPI_SUCCESS;
    }
    if (goes_on) {
      (void)patience.turn();
    } else if (const auto result = job_.after(code == MPI_SUCCESS ? MPI_ERR_OTHER : code, comm)) {
      return *result;
    }
  }
}

int MessageCarrier::makes_other(const char* call, MPI_Comm comm) {
  if (!reaches_other_processes(call) &&
      (comm == MPI_COMM_SELF || (comm != MPI_COMM_NULL && job_.find(comm) == nullptr && is_alone_in(comm))))
    return MPI_SUCCESS;
  if (!job_.note_caller()) return MPI_SUCCESS;
  const Journal& journal = job_.journal();
  const bool early = !journal.is_started();
  const std::string what = fmt::format("{} calls {}{}", job_.my_name(), call, early ? " before restore()" : "");
  // The others do not take part: they have been here before, or come here only later.
  if ((early && job_.setting().replaces) || journal.catches_up()) return job_.rolls_back(what);
  job_.obstructs(what,
                 early || makes_something_that_lasts(call, comm) ? Journal::Until::end : Journal::Until::next_snapshot);
  return leave_open_to_mpi(fmt::format("calls {}", call));
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

bool MessageCarrier::harvest() {
  const tap::Unheard own;
  const FailureHandler::Quiet quiet;
  const auto start = Clock::now();
  const auto in_time = [start](std::chrono::milliseconds limit) { return Clock::now() < start + limit; };
  bool all = true;
  for (PendingMessage* const pending : requests_.in_order()) {
    Backoff backoff;
    const auto limit = pending->sends ? kLongestHarvest : std::max(kLongestHarvest, job_.setting().limit);
    while (!pending->done && pending->real != MPI_REQUEST_NULL && test(*pending) && !pending->done && in_time(limit))
      backoff.sleep_a_little();
    const bool over = pending->done || pending->real == MPI_REQUEST_NULL;
    if (!over && !pending->sends && !in_time(limit)) end_for_late_message(job_.setting().log, limit);
    all = all && over;
  }
  end_sends(start + kLongestHarvest);
  return all;
}

void MessageCarrier::goes_on(MPI_Comm twin, MPI_Comm own, std::shared_ptr<Lifeline> lifeline,
                             std::vector<replay::Repeated> again) {
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
      (void)post(*pending);
  }
  for (auto& [number, payload] : again) {
    const Channel& channel = *job_.channels().find_number(number.lane.channel);
    const Channel::Way way = channel.way(number.lane.tag);
    MPI_Request real = MPI_REQUEST_NULL;
    const int to = channel.rank_of(number.lane.peer);
    if (MPI_Isend(payload.data(), static_cast<int>(payload.size()), MPI_BYTE, to, way.tag, way.comm, &real) !=
        MPI_SUCCESS)
      continue;
    counts_.sent(channel, to, number.lane.tag);
    const auto guard = lock_.hold();
    under_way_.push_back({real, std::move(payload)});
  }
}

}  // namespace cairn
