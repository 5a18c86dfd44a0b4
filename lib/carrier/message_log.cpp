#include "carrier/message_log.hpp"

#include <fmt/format.h>

#include "codec/crc32c.hpp"

namespace cairn {

using replay::Journal;

bool MessageLog::admit(const Channel& channel, int peer, int tag, const char* what) {
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

MessageLog::Logged MessageLog::log(const tap::OutgoingMessage& m) {
  const Channel& channel = job_.channel_of(m.comm);
  if (!admit(channel, m.peer, m.tag, "sends a message")) return {};
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

std::optional<int> MessageLog::take_shipped(const replay::Number& number, const tap::IncomingMessage& m,
                                            MPI_Status* status) {
  const auto payload = job_.journal().shipped(number);
  if (!payload) return job_.rolls_back(payload.error());
  if (!*payload) return {};
  const int code = put_payload(**payload, m.peer, m.tag, m.buffer, m.count, m.type, MPI_COMM_SELF, status);
  job_.journal().received(number, {(*payload)->size(), crc32c(**payload)});
  if (code != MPI_SUCCESS) (void)job_.raise(code, m.comm);
  return code;
}

void MessageLog::note_received(const replay::Number& number, const tap::IncomingMessage& m, const MPI_Status& status) {
  const auto payload = Payload::received(m.buffer, m.type, status, MPI_COMM_SELF, types_);
  if (!payload)
    return job_.obstructs(fmt::format("{} receives a part of an element from rank {}", job_.my_name(), m.peer),
                          Journal::Until::next_snapshot);
  job_.journal().received(number, {payload->bytes().size(), crc32c(payload->bytes())});
}

}  // namespace cairn
