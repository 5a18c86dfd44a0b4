#include "carrier/sends.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "carrier/patience.hpp"
#include "comm/backoff.hpp"
#include "mpi/copied_message.hpp"
#include "mpi/failure_handler.hpp"
#include "mpi/mpi_request.hpp"
#include "mpi/payload.hpp"
#include "mpi/whole_count.hpp"
#include "tap/hear.hpp"

namespace cairn {

Sends::Sends(CarrierJob& job, MessageLog& log, const OpenReceives& open)
    : job_(job), log_(log), open_(open), counts_(job), lock_(job.setting().has_threads) {}

Sends::~Sends() { finish(Clock::time_point{}); }

// No other rank reads the application's buffer after a failure, since each has ended its receives before all go on.
int Sends::send(const tap::OutgoingMessage& m) {
  if (m.peer == MPI_PROC_NULL) return MPI_SUCCESS;
  const MessageLog::Logged logged = log_.log(m);
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

int Sends::begin(const tap::OutgoingMessage& m, PendingMessage& pending) {
  pending.channel = &job_.channel_of(m.comm);
  pending.sends = true;
  pending.done = true;
  fill_status(&pending.status, MPI_ANY_SOURCE, MPI_ANY_TAG, 0);
  const auto logged = m.peer == MPI_PROC_NULL ? MessageLog::Logged{.is_over = true} : log_.log(m);
  if (logged.is_over) return logged.code;
  const int code =
      FailureHandler::quietly([&] { return m.buffered ? begin_buffered(m) : begin_in_mpi(m, &pending.real); });
  const auto result = job_.after(code, m.comm);
  if (result && *result != MPI_SUCCESS) return *result;
  if (!result && !logged.is_logged) return MPI_ERR_OTHER;
  // After a repair the message is over.
  pending.done = m.buffered || !result;
  pending.is_logged = logged.is_logged;
  if (!pending.done) pending.need = counts_.receiver(*pending.channel, m.peer, m.tag);
  return MPI_SUCCESS;
}

int Sends::begin_in_mpi(const tap::OutgoingMessage& m, MPI_Request* real) {
  const WholeCount all(m.count, m.type);
  const Channel& channel = job_.channel_of(m.comm);
  const Channel::Way way = channel.way(m.tag);
  const int code = m.synchronous ? MPI_Issend(m.buffer, all.count(), all.type(), m.peer, way.tag, way.comm, real)
                                 : MPI_Isend(m.buffer, all.count(), all.type(), m.peer, way.tag, way.comm, real);
  if (code == MPI_SUCCESS) counts_.sent(channel, m.peer, m.tag);
  return code;
}

int Sends::send_patiently(const tap::OutgoingMessage& m) {
  MPI_Request real = MPI_REQUEST_NULL;
  if (const int code = begin_in_mpi(m, &real); code != MPI_SUCCESS) return code;
  const auto need = counts_.receiver(job_.channel_of(m.comm), m.peer, m.tag);
  return wait_patiently(job_, real, MPI_STATUS_IGNORE,
                        [&] { return need ? std::optional(replay::DeadlockCheck::Needs{*need}) : std::nullopt; });
}

// MPI sends a copy, since the application may change its buffer at once. That of the log may be in a file.
int Sends::begin_buffered(const tap::OutgoingMessage& m) {
  look();
  auto copied = CopiedMessage::of(m);
  if (!copied) return m.count < 0 ? MPI_ERR_COUNT : MPI_ERR_TYPE;
  MPI_Request real = MPI_REQUEST_NULL;
  const int code = begin_in_mpi(copied->message, &real);
  const auto held = lock_.hold();
  if (code == MPI_SUCCESS) under_way_.push_back({real, std::move(copied->bytes), true});
  return code;
}

int Sends::finish_buffered() {
  Patience patience(job_);
  while (has_buffered())
    if (!patience.turn() && !job_.stays()) return MPI_ERR_OTHER;
  return MPI_SUCCESS;
}

bool Sends::has_buffered() {
  look();
  const auto held = lock_.hold();
  return std::ranges::any_of(under_way_, &UnderWay::buffered);
}

void Sends::repeat(std::vector<replay::Repeated> again) {
  for (auto& [number, payload] : again) {
    const Channel* const channel = job_.channels().find_number(number.lane.channel);
    check(channel != nullptr);
    const Channel::Way way = channel->way(number.lane.tag);
    const int to = channel->rank_of(number.lane.peer);
    MPI_Request real = MPI_REQUEST_NULL;
    if (MPI_Isend(payload.data(), static_cast<int>(payload.size()), MPI_BYTE, to, way.tag, way.comm, &real) !=
        MPI_SUCCESS)
      continue;
    counts_.sent(*channel, to, number.lane.tag);
    const auto held = lock_.hold();
    under_way_.push_back({real, std::move(payload)});
  }
}

void Sends::look() {
  const tap::Unheard own;
  const FailureHandler::Quiet quiet;
  const auto held = lock_.hold();
  std::erase_if(under_way_, [](UnderWay& one) {
    int over = 0;
    return MPI_Test(&one.real, &over, MPI_STATUS_IGNORE) != MPI_SUCCESS || over != 0;
  });
}

void Sends::finish(Clock::time_point until) {
  if (under_way_.empty()) return;
  Backoff backoff;
  if (mpi_is_running())
    for (look(); !under_way_.empty() && Clock::now() < until; look()) backoff.sleep_a_little();
  static auto& kept = *new std::vector<UnderWay>;
  std::ranges::move(under_way_, std::back_inserter(kept));
  under_way_.clear();
}

}  // namespace cairn
