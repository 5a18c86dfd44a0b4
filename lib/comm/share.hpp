// One member's result, told to all: what one alone finds out or does for the others, in a single broadcast.
#pragma once

#include <string_view>

#include "comm/comm.hpp"

namespace cairn {

// Every member leaves with `root`'s bytes, or with its error, said of that member, as agree() does; what others pass is
// ignored. Collective.
[[nodiscard]] Result<Buffer> share(Comm& comm, const Result<Buffer>& mine, Peer root, std::string_view member);

}  // namespace cairn
