// What a session's calls need of the carrier of the application's messages, where only the lost ranks roll back
// ([recovery] rollback = lost). All are local but for `stays` and `settled`, which all live processes of the job join.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "replay/helper_team.hpp"

namespace cairn {

struct MessageHooks {
  // A call has found that a process has died. Repairs the job; true: this rank continues its call.
  std::function<bool()> stays;
  // A replacement has taken what survivors shipped to it, or could not. Whether all have come as far.
  std::function<bool(bool ok)> settled;
  // In a replacement: recomputes steps together with spares. Empty: there are none.
  std::function<Result<std::vector<replay::PartResult>>(const replay::LostSteps& steps,
                                                        const replay::HelperTeam::Split& split)>
      recompute;
  // The rank has restored.
  std::function<void()> at_restore;
  // A snapshot() call begins.
  std::function<void()> at_safe_point;
};

}  // namespace cairn
