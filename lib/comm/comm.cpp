#include "comm/comm.hpp"

#include <algorithm>
#include <limits>
#include <string>

#include <fmt/format.h>

#include "comm/error_message.hpp"

namespace cairn {

Status Comm::wait(Request& request) {
  for (;;) {
    const auto done = request.test();
    if (!done) return fail(done.error());
    if (*done) return {};
    idle(false);
  }
}

Status Comm::send(Peer to, Tag tag, Bytes message) {
  const auto request = isend(to, tag, message);
  return wait(*request);
}

Status Comm::recv(Peer from, Tag tag, MutableBytes into) {
  const auto request = irecv(from, tag, into);
  return wait(*request);
}

Result<Buffer> Comm::recv_probed(const Envelope& envelope) {
  Buffer message(envelope.size_bytes);
  if (auto status = recv(envelope.source, envelope.tag, message); !status) return fail(status.error());
  return message;
}

Status Comm::allreduce(std::span<std::uint64_t> values, Reduce how) {
  const auto request = iallreduce(values, how);
  return wait(*request);
}

Status agree(Comm& comm, const Status& mine, std::string_view member) {
  constexpr std::uint64_t kNone = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t lowest_failed = mine ? kNone : comm.rank().value;
  const auto reduced = comm.allreduce({&lowest_failed, 1}, Reduce::min);
  if (!reduced) return mine ? reduced : mine;
  if (lowest_failed == kNone) return {};

  const Peer failed{static_cast<std::uint32_t>(lowest_failed)};
  const Buffer text = mine ? Buffer{} : encode_error(mine.error());
  const auto theirs = comm.broadcast(text, failed);
  if (!mine) return mine;
  if (!theirs) return fail(theirs.error());
  return fail(decode_error(*theirs).in(fmt::format("{} {}", member, failed.value)));
}

}  // namespace cairn
