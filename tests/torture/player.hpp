// Plays a scenario on a cluster, and has the model judge what comes back.
#pragma once

#include <string>

#include "torture/cluster.hpp"
#include "torture/scenario.hpp"

namespace cairn::torture {

// What went wrong, and in which life; empty: nothing.
[[nodiscard]] std::string play(const Scenario& scenario, Cluster& cluster);

}  // namespace cairn::torture
