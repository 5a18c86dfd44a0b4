// Sends one member's result to all members in a single broadcast: for what one member finds out or does for the others.
#pragma once

#include <string_view>

#include "comm/comm.hpp"

namespace cairn {

// Every member gets `root`'s bytes, or `root`'s error with its name in front, as in agree(). What other members pass is
// ignored. Collective.
[[nodiscard]] Result<Buffer> share(Comm& comm, const Result<Buffer>& mine, Peer root, std::string_view member);

}  // namespace cairn
