// Compares regions that are to be the same on all old ranks, by a hash of their bytes: two reductions, however many
// ranks.
#pragma once

#include <cstdint>
#include <vector>

#include "reshape/finding.hpp"
#include "reshape/holdings.hpp"
#include "reshape/roster.hpp"

namespace cairn::reshape {

struct EqualValues {
  // By number in the roster: two old ranks whose regions differ; none: all are equal, or of another kind.
  std::vector<std::optional<std::pair<std::uint32_t, std::uint32_t>>> different;
  Findings finding;  // of this member alone: a region that cannot be read
};

// Of all regions of that kind. Collective. An error: a member cannot be reached.
[[nodiscard]] Result<EqualValues> compare_values(Comm& comm, const Roster& roster, const Holdings& holdings, Kind kind);

// What to write for regions of which nothing was said, if there are any: the same on all members. Collective.
[[nodiscard]] Result<Findings> explain_unsaid(Comm& comm, const Roster& roster, const Input& input);

// A region of an old rank that cannot be read.
[[nodiscard]] Finding unreadable(const std::string& region, Rank old_rank, const Error& error);

}  // namespace cairn::reshape
