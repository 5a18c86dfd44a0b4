// How a pool starts new processes that replace dead ones ([recovery] mode = respawn, or when_spent = respawn).
#pragma once

#include <vector>

#include "base/log.hpp"
#include "config/config.hpp"
#include "mpi/ulfm_comm.hpp"
#include "repair/decision.hpp"
#include "repair/pool_state.hpp"

namespace cairn {

// After so many starts in a row that failed, a repair gives up.
inline constexpr std::uint32_t kMostFailedGrowths = 3;

// Whether new processes may ever be needed. Pure.
[[nodiscard]] bool may_grow(const Config::Recovery& recovery);
// The nodes for which new processes are needed. In mode `respawn` one for each process that died, less the newcomers
// that an earlier try has left as spares. The configured spares stay spares: they keep mpirun from ending the job once
// all other processes that it started itself have died. Pure.
[[nodiscard]] std::vector<NodeId> nodes_to_grow(const PoolState& state, const Decision& decision,
                                                const Config::Recovery& recovery);

// Starts new processes for those nodes that are on the same host as the first. Then they are the last members of `pool`
// and of the roster, as spares. False if no host takes new processes. Collective over `pool`, whose members have the
// same state and the same `decision`.
[[nodiscard]] Result<bool> grow(UlfmComm::Ptr& pool, PoolState& state, const Decision& decision,
                                std::vector<NodeId> nodes, const Log& log);

}  // namespace cairn
