// Messages from ranks to those that they know to need one, while no rank knows from whom it gets one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include "base/bytes.hpp"
#include "base/error.hpp"
#include "comm/comm.hpp"

namespace cairn::replay {

// MPI counts bytes in an int.
inline constexpr std::size_t kMostInOneMessage = 1024 * kMiB;

// Sends to each rank what is for it; returns what came, by sender. What is for this rank itself comes back, too.
// Collective. `most`: bytes of one message of the communicator, the same on all ranks; longer ones are sent in pieces.
// communication: a member has died.
[[nodiscard]] Result<std::map<std::uint32_t, Buffer>> exchange(Comm& comm, const std::map<std::uint32_t, Buffer>& out,
                                                               std::size_t most = kMostInOneMessage);

}  // namespace cairn::replay
