// Plays a scenario on a cluster of threads, whose stores are memory, and has the model judge what comes back.
#pragma once

#include <string>

#include "torture/scenario.hpp"

namespace cairn::torture {

// What went wrong, and in which life; empty: nothing. A job that hangs ends the process (see support/thread_cluster).
[[nodiscard]] std::string play(const Scenario& scenario);

}  // namespace cairn::torture
