#include "support/scripted_comm.hpp"

#include <algorithm>
#include <cstring>

#include "comm/finished_request.hpp"

namespace cairn::test {
namespace {

std::uint64_t reduced(std::uint64_t a, std::uint64_t b, Reduce how) {
  switch (how) {
    case Reduce::sum: return a + b;
    case Reduce::max: return std::max(a, b);
    case Reduce::min: return std::min(a, b);
    case Reduce::bit_or: return a | b;
    case Reduce::bit_and: return a & b;
  }
  return a;
}

}  // namespace

Buffer ScriptedComm::next() { return next_ < script_.size() ? std::move(script_[next_++]) : Buffer{}; }

std::unique_ptr<Request> ScriptedComm::isend(Peer to, Tag tag, Bytes /*message*/) {
  return finished_request(check_message(to, tag, size_));
}

std::unique_ptr<Request> ScriptedComm::irecv(Peer from, Tag tag, MutableBytes into) {
  Buffer piece = next();
  piece.resize(into.size());
  std::ranges::copy(piece, into.begin());
  return finished_request(check_message(from, tag, size_));
}

Result<std::optional<Envelope>> ScriptedComm::probe(Tag /*tag*/) { return std::nullopt; }

// Without a piece they give what this member does.
std::unique_ptr<Request> ScriptedComm::iallreduce(std::span<std::uint64_t> values, Reduce how) {
  const Buffer bytes = next();
  ByteReader in(bytes);
  for (std::uint64_t& value : values) {
    if (in.remaining() < sizeof value) break;
    value = reduced(value, in.get<std::uint64_t>(), how);
  }
  return finished_request({});
}

Result<std::vector<Buffer>> ScriptedComm::allgather(Bytes mine) {
  std::vector<Buffer> all;
  for (std::uint32_t member = 0; member < size_; ++member)
    all.push_back(member == rank_.value ? Buffer(mine.begin(), mine.end()) : next());
  return all;
}

Result<Buffer> ScriptedComm::broadcast(Bytes mine, Peer root) {
  if (auto there = check_peer(root, size_); !there) return fail(there.error());
  if (root != rank_) return next();
  told_.assign(mine.begin(), mine.end());
  return told_;
}

Result<std::unique_ptr<Comm>> ScriptedComm::split(std::optional<std::uint32_t> /*color*/, std::uint32_t /*key*/) {
  return fail(Code::communication, "a scripted communicator cannot be split");
}

}  // namespace cairn::test
