// What the application does that local rollback does not replay ([recovery] rollback = lost). Local.
#pragma once

#include <string>

#include "base/ids.hpp"
#include "base/log.hpp"
#include "replay/journal.hpp"

namespace cairn {

// Notes it in the journal of this rank, and logs it once: application rank 0 as information, other ranks for debugging,
// since all ranks often do the same. `what` names the rank and the call.
void note_obstacle(replay::Journal& journal, const Log& log, Rank rank, const std::string& what,
                   replay::Journal::Until until);

}  // namespace cairn
