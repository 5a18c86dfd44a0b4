// The first copy of a snapshot: this rank's shard in its node's store.
#pragma once

#include "session/session_state.hpp"

namespace cairn {

// Waits for a slot, writes the shard, and tells the head, also of a failure: the other heads wait for this one. A rank
// that is its node's head then does the head's work.
[[nodiscard]] Status write_snapshot(SessionState& session, Version version, LevelSet levels);

}  // namespace cairn
