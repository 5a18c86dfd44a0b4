#include "comm/counting_comm.hpp"

namespace cairn {

std::unique_ptr<Request> CountingComm::isend(Peer to, Tag tag, Bytes message) {
  if (counts_(to)) sent_bytes_ += message.size();
  return inner_.isend(to, tag, message);
}

std::unique_ptr<Request> CountingComm::irecv(Peer from, Tag tag, MutableBytes into) {
  return inner_.irecv(from, tag, into);
}

std::unique_ptr<Request> CountingComm::iallreduce(std::span<std::uint64_t> values, Reduce how) {
  return inner_.iallreduce(values, how);
}

Result<std::unique_ptr<Comm>> CountingComm::split(std::optional<std::uint32_t> color, std::uint32_t key) {
  return inner_.split(color, key);
}

}  // namespace cairn
