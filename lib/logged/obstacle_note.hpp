// Notes in a rank's journal what local rollback does not replay. Local.
#pragma once

#include <string>

#include "base/ids.hpp"
#include "base/log.hpp"
#include "replay/journal.hpp"
#include "rollback/obstacle.hpp"

namespace cairn::rollback {

// Logs it once: application rank 0 as information, other ranks for debugging, since all ranks often do the same.
// `what` names the rank and the call.
void note_obstacle(replay::Journal& journal, const Log& log, Rank rank, const std::string& what, Until until);

}  // namespace cairn::rollback
