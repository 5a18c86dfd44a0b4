// Finds out from which members each member fetches which boxes of blocks and sequences. A directory cuts each array
// into tiles, one for a member at most. Boxes are sent only to the members whose tiles they touch, and each member is
// told of its own only. So no member gets a list of all boxes, unless all of them touch its tile.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "reshape/finding.hpp"
#include "reshape/holdings.hpp"
#include "reshape/post.hpp"
#include "reshape/roster.hpp"
#include "reshape/tile_match.hpp"

namespace cairn::reshape {

// What a member wants of one array or sequence, as boxes there.
struct WantedBoxes {
  Box owned;
  Box filled;
};

struct BoxSources {
  std::map<std::uint32_t, std::vector<Source>> of_region;  // by number in the roster
  Findings finding;                                        // of this member alone
};

// `shapes`: of all arrays and sequences, by number in the roster; empty for other regions. Collective. An error: a
// member cannot be reached.
[[nodiscard]] Result<BoxSources> find_boxes(Comm& comm, Post& post, const Roster& roster,
                                            const std::vector<std::vector<std::uint64_t>>& shapes,
                                            const Holdings& holdings,
                                            const std::map<std::uint32_t, WantedBoxes>& wanted);

// Whether the sources give each wanted element exactly once, and nothing else. They do when nobody has a finding.
[[nodiscard]] bool are_complete(const BoxSources& found, const std::map<std::uint32_t, WantedBoxes>& wanted,
                                std::uint32_t members);

}  // namespace cairn::reshape
