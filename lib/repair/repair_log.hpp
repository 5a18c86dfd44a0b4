// What the log says of a repair, in the first process of the new pool.
#pragma once

#include "base/log.hpp"
#include "config/config.hpp"
#include "repair/decision.hpp"
#include "repair/pool_state.hpp"

namespace cairn {

struct RepairFacts {
  const PoolState& before;
  const Decision& decision;
  const PoolState& now;
  const FailureTopology& failures;
};
void log_repair(const Log& log, const Config& config, const RepairFacts& facts);

// Why the job ends when a rank has no replacement. Requires: a rank is unfilled.
[[nodiscard]] Error no_spare_left(const PoolState& state, const Decision& decision);

}  // namespace cairn
