#include "comm/finished_request.hpp"

#include <utility>

#include <fmt/format.h>

namespace cairn {
namespace {

constexpr std::uint32_t kLargestTag = 32767;

class FinishedRequest final : public Request {
 public:
  explicit FinishedRequest(Status status) : status_(std::move(status)) {}
  Result<bool> test() override {
    if (!status_) return fail(status_.error());
    return true;
  }

 private:
  Status status_;
};

}  // namespace

std::unique_ptr<Request> finished_request(Status status) {
  return std::make_unique<FinishedRequest>(std::move(status));
}

Status check_peer(Peer peer, std::uint32_t size) {
  if (peer.value < size) return {};
  return fail_internal(Code::invalid_argument,
                       fmt::format("there is no member {} here; the members are 0 to {}", peer.value, size - 1));
}

Status check_message(Peer peer, Tag tag, std::uint32_t size) {
  if (tag.value > kLargestTag) {
    return fail_internal(Code::invalid_argument,
                         fmt::format("message tag {} is above the largest, {}", tag.value, kLargestTag));
  }
  return check_peer(peer, size);
}

tl::unexpected<Error> message_too_long(Peer from, Tag tag, std::size_t size_bytes, std::size_t buffer_bytes) {
  return fail_internal(Code::communication,
                       fmt::format("a message of {} bytes from member {} with tag {} is longer than its "
                                   "buffer of {} bytes",
                                   size_bytes, from.value, tag.value, buffer_bytes));
}

}  // namespace cairn
