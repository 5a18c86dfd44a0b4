// Receives and probes before restore() that name no sender, or no tag. What MPI chooses is noted, so that a replacement
// gets the same messages.
#include "carrier/patience.hpp"
#include "carrier/receives.hpp"
#include "mpi/failure_handler.hpp"
#include "mpi/whole_count.hpp"

namespace cairn {

bool Receives::is_choice(int peer, int tag) const {
  return peer != MPI_PROC_NULL && (peer == MPI_ANY_SOURCE || tag == MPI_ANY_TAG) && !job_.journal().is_started() &&
         job_.is_logged_here();
}

Result<tap::IncomingMessage> Receives::message_of_the_dead(const tap::IncomingMessage& m) {
  const Channel& channel = job_.channel_of(m.comm);
  const auto choice = job_.journal().prologue().next_choice(channel.pattern(m.peer, m.tag), false);
  if (!choice) return fail(choice.error());
  tap::IncomingMessage named = m;
  named.peer = channel.rank_of((*choice)->peer);
  named.tag = (*choice)->tag;
  return named;
}

void Receives::note_choice(std::uint64_t choice, const tap::IncomingMessage& m, const MPI_Status& status) {
  tap::IncomingMessage named = m;
  named.peer = status.MPI_SOURCE;
  named.tag = status.MPI_TAG;
  const Channel& channel = job_.channel_of(m.comm);
  job_.journal().prologue().chose(choice,
                                  {channel.member(named.peer), named.tag, false, channel.pattern(m.peer, m.tag)});
  log_.note_received(job_.journal().awaits(channel.stream(named.peer, named.tag)), named, status);
}

// If a process dies, all ranks roll back: none has left restore().
int Receives::receive_any(const tap::IncomingMessage& m, MPI_Status* status) {
  if (job_.journal().is_replacement()) {
    const auto named = message_of_the_dead(m);
    return named ? receive(*named, status) : job_.rolls_back(named.error());
  }
  const std::uint64_t choice = job_.journal().prologue().chooses();
  MPI_Status mine{};
  const int code = FailureHandler::quietly([&] {
    const WholeCount all(m.count, m.type);
    return MPI_Recv(m.buffer, all.count(), all.type(), m.peer, m.tag, job_.channel_of(m.comm).twin, &mine);
  });
  if (code != MPI_SUCCESS) return job_.after(code, m.comm).value_or(MPI_ERR_OTHER);
  note_choice(choice, m, mine);
  if (status != MPI_STATUS_IGNORE) *status = mine;
  return code;
}

int Receives::probe_any(MPI_Comm comm, int peer, int tag, int* flag, MPI_Status* status) {
  const Channel& channel = job_.channel_of(comm);
  if (job_.journal().is_replacement()) {
    const auto known = job_.journal().prologue().next_choice(channel.pattern(peer, tag), true);
    if (!known) return job_.rolls_back(known.error());
    if (*known) return probe(comm, channel.rank_of((*known)->peer), (*known)->tag, flag, status);
    if (flag == nullptr)
      return job_.rolls_back(job_.my_name() + " probes for other messages before restore() than the dead rank");
    *flag = 0;
    return MPI_SUCCESS;
  }
  MPI_Status mine{};
  Patience patience(job_);
  for (int found = 0; found == 0;) {
    int code = FailureHandler::quietly([&] { return MPI_Iprobe(peer, tag, channel.twin, &found, &mine); });
    if (code == MPI_SUCCESS && found == 0 && !patience.looks()) code = MPI_ERR_OTHER;
    if (code != MPI_SUCCESS) return job_.after(code, comm).value_or(MPI_ERR_OTHER);
    if (flag != nullptr) *flag = found;
    if (flag != nullptr && found == 0) return MPI_SUCCESS;
    if (found == 0) (void)patience.turn();
  }
  const std::uint64_t choice = job_.journal().prologue().chooses();
  job_.journal().prologue().chose(choice,
                                  {channel.member(mine.MPI_SOURCE), mine.MPI_TAG, true, channel.pattern(peer, tag)});
  if (status != MPI_STATUS_IGNORE) *status = mine;
  return MPI_SUCCESS;
}

}  // namespace cairn
