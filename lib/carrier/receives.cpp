#include "carrier/receives.hpp"

#include "carrier/patience.hpp"
#include "mpi/failure_handler.hpp"
#include "mpi/payload.hpp"
#include "mpi/whole_count.hpp"

namespace cairn {

using tap::IncomingMessage;

bool Receives::needs_request(const IncomingMessage& m) const {
  if (is_recorded(m.peer, m.tag)) return true;
  return m.peer != MPI_PROC_NULL && job_.is_logged_here() && !open_.empty() &&
         open_.is_behind(job_.channel_of(m.comm), m.peer, m.tag);
}

int Receives::receive(const IncomingMessage& m, MPI_Status* status) {
  if (is_choice(m.peer, m.tag)) return receive_any(m, status);
  const Channel& channel = job_.channel_of(m.comm);
  if (m.peer != MPI_PROC_NULL && log_.admit(channel, m.peer, m.tag, "receives a message"))
    return receive_logged(m, status);
  const Channel::Way way = channel.way(m.tag);
  const WholeCount all(m.count, m.type);
  return MPI_Recv(m.buffer, all.count(), all.type(), m.peer, way.tag, way.comm, status);
}

int Receives::receive_logged(const IncomingMessage& m, MPI_Status* status) {
  const Channel& channel = job_.channel_of(m.comm);
  const WholeCount all(m.count, m.type);
  const replay::Number number = job_.journal().awaits(channel.stream(m.peer, m.tag));
  while (true) {
    if (const auto shipped = log_.take_shipped(number, m, status)) return *shipped;
    MPI_Status mine{};
    const int code = FailureHandler::quietly([&] {
      if (job_.is_patient() || !open_.empty()) return receive_patiently(m, &mine);
      const Channel::Way way = channel.way(m.tag);  // after a repair it is another
      return MPI_Recv(m.buffer, all.count(), all.type(), m.peer, way.tag, way.comm, &mine);
    });
    if (code == MPI_SUCCESS) {
      log_.note_received(number, m, mine);
      if (status != MPI_STATUS_IGNORE) *status = mine;
      return code;
    }
    if (const auto result = job_.after(code, m.comm)) return *result;
  }
}

int Receives::receive_patiently(const IncomingMessage& m, MPI_Status* status) {
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

std::optional<replay::DeadlockCheck::Needs> Receives::needs_message(const Channel& channel, int peer, int tag) {
  if (job_.has_other_threads()) return {};
  settle_what_is_over();
  return replay::DeadlockCheck::Needs{counts_.message(channel, peer, tag)};
}

int Receives::begin(const IncomingMessage& m, PendingMessage& pending) {
  if (m.peer != MPI_PROC_NULL) (void)job_.note_caller();
  pending.channel = &job_.channel_of(m.comm);
  pending.in = m;
  if (is_choice(m.peer, m.tag)) {
    if (job_.journal().is_replacement()) {
      const auto named = message_of_the_dead(m);
      return named ? begin(*named, pending) : job_.rolls_back(named.error());
    }
    pending.choice = job_.journal().prologue().chooses();
  } else if (is_recorded(m.peer, m.tag)) {
    return begin_any(m, pending);
  } else if (m.peer == MPI_PROC_NULL) {
    pending.done = true;
    fill_status(&pending.status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
  } else if (log_.admit(*pending.channel, m.peer, m.tag, "receives a message")) {
    pending.is_logged = true;
    pending.is_open = open_.is_behind(*pending.channel, m.peer, m.tag);
    if (pending.is_open) return MPI_SUCCESS;
    pending.number = job_.journal().awaits(pending.channel->stream(m.peer, m.tag));
    if (const auto shipped = log_.take_shipped(pending.number, m, &pending.status)) {
      pending.done = true;
      pending.code = *shipped;
    }
  }
  while (!pending.done)
    if (const auto result = job_.after(post(pending), m.comm)) return *result;
  return MPI_SUCCESS;
}

int Receives::post(PendingMessage& pending) {
  const FailureHandler::Quiet quiet;
  const auto& in = pending.in;
  const WholeCount all(in.count, in.type);
  const Channel::Way way = pending.channel->way(in.tag);
  const int code = MPI_Irecv(in.buffer, all.count(), all.type(), in.peer, way.tag, way.comm, &pending.real);
  if (code == MPI_SUCCESS) counts_.posted(*pending.channel, in.peer, in.tag);
  return code;
}

void Receives::settle(PendingMessage& pending, int code, const MPI_Status& status) {
  pending.real = MPI_REQUEST_NULL;
  if (code != MPI_SUCCESS && job_.is_of_failure(code)) return;  // it is lost
  pending.done = true;
  pending.code = code;
  pending.status = status;
  int cancelled = 0;
  if (code == MPI_SUCCESS) MPI_Test_cancelled(&status, &cancelled);
  if (pending.sends || cancelled != 0) return;
  counts_.received(*pending.channel, pending.in.peer, pending.in.tag);
  if (code != MPI_SUCCESS) return;
  if (pending.is_logged && !job_.has_other_threads()) log_.note_received(pending.number, pending.in, status);
  if (pending.choice) note_choice(*pending.choice, pending.in, status);
}

bool Receives::test(PendingMessage& pending) {
  if (pending.is_open && !advance_open()) return false;
  if (pending.is_open || pending.done) return true;
  if (pending.real == MPI_REQUEST_NULL) return false;
  const FailureHandler::Quiet quiet;
  int over = 0;
  MPI_Status status{};
  const int code = MPI_Test(&pending.real, &over, &status);
  if (code == MPI_SUCCESS && over == 0) return true;
  settle(pending, code, status);
  return pending.done;
}

void Receives::settle_what_is_over() {
  for (PendingMessage* const pending : requests_.in_order())
    if (!pending->done && pending->real != MPI_REQUEST_NULL) (void)test(*pending);
}

int Receives::probe(MPI_Comm comm, int peer, int tag, int* flag, MPI_Status* status) {
  if (peer != MPI_PROC_NULL) (void)job_.note_caller();
  if (is_choice(peer, tag)) return probe_any(comm, peer, tag, flag, status);
  if (is_recorded(peer, tag)) return probe_recorded(comm, peer, tag, flag, status);
  return probe_named(comm, peer, tag, flag, status);
}

int Receives::probe_named(MPI_Comm comm, int peer, int tag, int* flag, MPI_Status* status) {
  const Channel& channel = job_.channel_of(comm);
  const bool replayed = peer != MPI_PROC_NULL && log_.admit(channel, peer, tag, "probes for a message");
  Patience patience(job_, [&] { return needs_message(channel, peer, tag); });
  while (true) {
    if (replayed) {
      (void)advance_open();
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

}  // namespace cairn
