// Messages from ranks to those that they know to need one, while no rank knows from whom it gets one.
#pragma once

#include <cstdint>
#include <map>

#include "base/bytes.hpp"
#include "base/error.hpp"
#include "comm/comm.hpp"

namespace cairn::replay {

// Sends to each rank what is for it; returns what came, by sender. What is for this rank itself comes back, too.
// Collective. communication: a member has died.
[[nodiscard]] Result<std::map<std::uint32_t, Buffer>> exchange(Comm& comm, const std::map<std::uint32_t, Buffer>& out);

}  // namespace cairn::replay
