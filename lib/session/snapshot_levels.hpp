// At which levels a snapshot() call takes a snapshot: by the number of calls, by time, by the model, or since it was
// asked for. The same on all ranks.
#pragma once

#include <chrono>

#include "session/session_state.hpp"

namespace cairn {

// Counts the call.
[[nodiscard]] Result<LevelSet> levels_due(SessionState& session);

// A rank that has left its session does not make this call. Then no agreement on time and no snapshot of this call can
// be completed. A rank may get this message during this call or later; in a later call, all have it.
[[nodiscard]] Status all_take_part(const SessionState& session);

// The time that heads have spent on promoting snapshots since the last call. The heads measure it, because their
// messages may arrive late.
[[nodiscard]] std::chrono::microseconds take_promotions(SessionState& session);

// Of a snapshot after which the job ends.
[[nodiscard]] LevelId last_level(LevelSet usable);

}  // namespace cairn
