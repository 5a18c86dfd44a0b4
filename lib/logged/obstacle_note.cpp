#include "logged/obstacle_note.hpp"

#include <fmt/format.h>

namespace cairn::rollback {

void note_obstacle(replay::Journal& journal, const Log& log, Rank rank, const std::string& what, Until until) {
  // A replacement repeats what comes before restore(), whichever snapshot it then restores.
  if (!journal.is_started()) until = Until::end;
  if (!journal.obstructs(what, until)) return;
  const std::string text =
      fmt::format("{}: a failure makes all ranks roll back{}", what,
                  until == Until::end ? "" : " until a later snapshot is complete ([recovery] rollback = lost)");
  rank.value == 0 ? log.info("{}", text) : log.debug("{}", text);
}

}  // namespace cairn::rollback
