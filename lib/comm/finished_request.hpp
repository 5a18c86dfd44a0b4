// Requests that are done from the start, and the checks of arguments that lead to one. For implementations of Comm.
#pragma once

#include <memory>

#include "comm/comm.hpp"

namespace cairn {

// A request that succeeded, or failed with that error, at once.
[[nodiscard]] std::unique_ptr<Request> finished_request(Status status);

// Whether `peer` is a member of a Comm of `size` members.
[[nodiscard]] Status check_peer(Peer peer, std::uint32_t size);
// Whether a message of that tag can be exchanged with that peer.
[[nodiscard]] Status check_message(Peer peer, Tag tag, std::uint32_t size);
// The error of a message that does not fit the buffer given to irecv.
[[nodiscard]] tl::unexpected<Error> message_too_long(Peer from, Tag tag, std::size_t size_bytes,
                                                     std::size_t buffer_bytes);

}  // namespace cairn
