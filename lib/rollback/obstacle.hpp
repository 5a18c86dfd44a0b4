// What the application does that local rollback does not replay ([recovery] rollback = lost), and what else makes all
// ranks roll back. Local.
#pragma once

#include <cstdint>
#include <string>

#include "base/ids.hpp"
#include "base/log.hpp"
#include "replay/journal.hpp"

namespace cairn {

// Notes it in the journal of this rank, and logs it once: application rank 0 as information, other ranks for debugging,
// since all ranks often do the same. `what` names the rank and the call.
void note_obstacle(replay::Journal& journal, const Log& log, Rank rank, const std::string& what,
                   replay::Journal::Until until);

namespace rollback {

// Why a process cannot continue where a failure has struck it.
struct Obstacle {
  // Whether it knows why all ranks roll back, or only what it has seen of that.
  enum class Weight : std::uint32_t { none, seen, known };
  std::string text;
  Weight weight = Weight::none;
};

}  // namespace rollback
}  // namespace cairn
