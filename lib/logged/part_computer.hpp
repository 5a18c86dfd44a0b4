// The application's functions that recompute the steps of a lost rank in parts, with their exceptions as errors.
#pragma once

#include <cairn/lost_part.hpp>

#include "base/error.hpp"
#include "replay/helper_team.hpp"

namespace cairn {

[[nodiscard]] replay::HelperTeam::Compute computer_of(ComputePart compute);
[[nodiscard]] replay::HelperTeam::Split splitter_of(SplitState split);

}  // namespace cairn
