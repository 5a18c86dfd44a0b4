// What MPI_COMM_WORLD is to the application of a session: what was started, what is the case in this process, and
// whether the configuration agrees. Pure.
#pragma once

#include <optional>
#include <string>

#include "base/error.hpp"
#include "config/config.hpp"
#include "session/handover.hpp"

namespace cairn {

struct WorldMode {
  std::optional<StartedWorld> started = std::nullopt;  // as ckpt-run has started the job; none: as MPI makes it
  bool replaced = false;                               // the tap puts the application's world in its place
  bool intercepted = true;                             // false: the tap does not intercept the calls of this program
};

// Whether the configuration says what ckpt-run was told when it started the job. `heads`: ckpt-run has started some.
// `is_part`: the session is of only some of the application ranks. The error names both.
[[nodiscard]] Status check_world_mode(const Config& config, const WorldMode& mode, bool heads, bool is_part);

}  // namespace cairn
