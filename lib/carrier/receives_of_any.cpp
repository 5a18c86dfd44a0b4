// Receives and probes after restore() that name no sender, or no tag. MPI does not get such a receive: it stays open
// here until a probe finds its message. So it is known at once which message it gets, and that is recorded before the
// application can see it. A receive that an earlier one of these might take the message from is open, too, so that each
// message goes to the receive to which MPI would give it.
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "carrier/patience.hpp"
#include "carrier/receives.hpp"
#include "mpi/failure_handler.hpp"
#include "mpi/payload.hpp"
#include "mpi/ulfm.hpp"

namespace cairn {

bool Receives::is_recorded(int peer, int tag) const {
  return peer != MPI_PROC_NULL && !OpenReceives::names_all(peer, tag) && job_.journal().is_started() &&
         job_.journal().choices().is_recorded() && job_.is_logged_here();
}

int Receives::begin_any(const tap::IncomingMessage& m, PendingMessage& pending) {
  replay::Journal& journal = job_.journal();
  const auto next =
      journal.choices().receives(journal.epoch(), pending.channel->pattern(m.peer, m.tag), journal.catches_up());
  if (!next) return job_.rolls_back(next.error());
  if (next->got) {
    tap::IncomingMessage named = m;
    named.peer = pending.channel->rank_of(next->got->peer);
    named.tag = next->got->tag;
    return begin(named, pending);
  }
  if (!next->place) record_is_full();
  pending.is_open = true;
  pending.is_logged = true;
  pending.place = next->place;
  return MPI_SUCCESS;
}

void Receives::record_is_full() {
  job_.obstructs(job_.my_name() + " receives too many messages from any rank or with any tag",
                 replay::Journal::Until::next_snapshot);
}

bool Receives::advance_open() {
  if (open_.empty() || !job_.is_session_thread()) return true;
  return open_.advance([this](PendingMessage& open) { return try_open(open); });
}

int Receives::leave_open_to_mpi(const std::string& what) {
  if (open_.empty()) return MPI_SUCCESS;
  const std::string why = fmt::format("{} {} while it receives from any rank or with any tag", job_.my_name(), what);
  // Its messages were shipped, so they do not come.
  if (job_.journal().catches_up()) return job_.rolls_back(why);
  job_.obstructs(why, replay::Journal::Until::next_snapshot);
  // If this rank dies, nobody else knows of the obstacle.
  job_.journal().choices().gives_up(job_.journal().epoch());
  for (PendingMessage* const open : open_.take_all()) {
    open->is_logged = false;
    (void)post(*open);  // of a failure, the call that waits for it learns
  }
  return MPI_SUCCESS;
}

// It gets the next message of that sender with that tag.
void Receives::becomes(PendingMessage& open, int peer, int tag) {
  open.is_open = false;
  const replay::Pattern asked = open.channel->pattern(open.in.peer, open.in.tag);
  open.in.peer = peer;
  open.in.tag = tag;
  const replay::Stream from = open.channel->stream(peer, tag);
  if (open.place) job_.journal().choices().chose(*open.place, {from.peer, tag, false, asked});
  open.number = job_.journal().awaits(from);
}

OpenReceives::Tried Receives::try_open(PendingMessage& open) {
  using Tried = OpenReceives::Tried;
  const FailureHandler::Quiet quiet;
  const Channel& channel = *open.channel;
  const auto shipped = job_.journal().any_shipped(channel.pattern(open.in.peer, open.in.tag));
  if (shipped || OpenReceives::names_all(open.in.peer, open.in.tag)) {
    becomes(open, shipped ? channel.rank_of(shipped->lane.peer) : open.in.peer,
            shipped ? shipped->lane.tag : open.in.tag);
    if (const auto code = log_.take_shipped(open.number, open.in, &open.status)) {
      open.done = true;
      open.code = *code;
    }
    return open.done || post(open) == MPI_SUCCESS ? Tried::goes_on : Tried::process_has_died;
  }
  int found = 0;
  MPI_Status status{};
  if (MPI_Iprobe(open.in.peer, open.in.tag, channel.twin, &found, &status) != MPI_SUCCESS)
    return Tried::process_has_died;
  if (found == 0) return Tried::goes_on;
  // It has come meanwhile.
  if (open_.is_behind(channel, status.MPI_SOURCE, status.MPI_TAG, open.order)) return Tried::earlier_gets_it;
  becomes(open, status.MPI_SOURCE, status.MPI_TAG);
  return post(open) == MPI_SUCCESS ? Tried::goes_on : Tried::process_has_died;
}

int Receives::probe_recorded(MPI_Comm comm, int peer, int tag, int* flag, MPI_Status* status) {
  replay::Journal& journal = job_.journal();
  const Channel& channel = job_.channel_of(comm);
  const replay::Pattern asked = channel.pattern(peer, tag);
  const auto next = journal.choices().probes(journal.epoch(), asked, flag == nullptr, journal.catches_up());
  if (!next) return job_.rolls_back(next.error());
  if (next->got) {
    // The dead rank got it, so it comes.
    const int code = probe(comm, channel.rank_of(next->got->peer), next->got->tag, nullptr, status);
    if (flag != nullptr) *flag = code == MPI_SUCCESS ? 1 : 0;
    return code;
  }
  if (flag != nullptr) *flag = 0;
  if (!next->is_free) return MPI_SUCCESS;
  Patience patience(job_, [&] { return needs_message(channel, peer, tag); });
  while (true) {
    int found = 0;
    MPI_Status mine{};
    const int code = probe_once(channel, peer, tag, &found, &mine);
    const bool goes_on = code == MPI_SUCCESS && (found != 0 || patience.looks());
    if (goes_on && found != 0) {
      if (!journal.choices().probed(journal.epoch(), {channel.member(mine.MPI_SOURCE), mine.MPI_TAG, true, asked}))
        record_is_full();
      if (status != MPI_STATUS_IGNORE) *status = mine;
      if (flag != nullptr) *flag = 1;
      return MPI_SUCCESS;
    }
    if (goes_on && flag != nullptr) return MPI_SUCCESS;
    if (goes_on)
      (void)patience.turn();
    else if (const auto result = job_.after(code == MPI_SUCCESS ? MPI_ERR_OTHER : code, comm))
      return *result;
  }
}

// Among those that no open receive gets.
int Receives::probe_once(const Channel& channel, int peer, int tag, int* found, MPI_Status* status) {
  const FailureHandler::Quiet quiet;
  while (true) {
    if (!advance_open()) return MPI_ERR_OTHER;
    if (const auto shipped = job_.journal().any_shipped(channel.pattern(peer, tag))) {
      const auto bytes = job_.journal().next_shipped(replay::stream_of(shipped->lane));
      fill_status(status, channel.rank_of(shipped->lane.peer), shipped->lane.tag,
                  static_cast<MPI_Count>(bytes ? bytes->value_or(0) : 0));
      *found = 1;
      return MPI_SUCCESS;
    }
    MPI_Status mine{};
    const int code = MPI_Iprobe(peer, tag, channel.twin, found, &mine);
    if (code != MPI_SUCCESS || *found == 0) return code;
    if (open_.is_behind(channel, mine.MPI_SOURCE, mine.MPI_TAG)) continue;
    if (status != MPI_STATUS_IGNORE) *status = mine;
    return code;
  }
}

}  // namespace cairn
