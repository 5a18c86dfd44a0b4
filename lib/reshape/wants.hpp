// What one member wants, in elements, and where they go, once the lengths of all sequences are known. Local.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "reshape/box_directory.hpp"
#include "reshape/finding.hpp"
#include "reshape/local_array.hpp"
#include "reshape/rank_directory.hpp"
#include "reshape/roster.hpp"
#include "reshape/share.hpp"

namespace cairn::reshape {

// Where a member's part of one region goes.
struct Target {
  LocalArray array;
  MutableBytes memory;
  std::uint64_t steps = 0;  // of its first dimension
};

// By number in the roster.
struct Wants {
  std::map<std::uint32_t, Target> targets;     // without memory yet
  std::map<std::uint32_t, WantedBoxes> boxes;  // of blocks and sequences
  Findings finding;                            // of this member alone
};

// Of blocks and sequences. `lengths`: of all sequences, by number in the roster.
// Requires: the roster agrees with the input; sequences that are cut like others have multiples of their lengths.
[[nodiscard]] Wants list_wants(const Input& input, const Roster& roster, const std::vector<std::uint64_t>& lengths,
                               Peer self, std::uint32_t members);

// Takes what a directory knows of a region that comes from one old rank.
[[nodiscard]] Findings take_answer(const Wanted& wanted, const RankDirectory::Question& question,
                                   const RankDirectory::Answer& answer, Wants& wants);

// Fixed memory that has another size than its part.
[[nodiscard]] Findings check_sizes(const Input& input, const Roster& roster, const Wants& wants, Peer self);
// Gives all targets their memory. A finding: there is not enough.
[[nodiscard]] Findings allocate(const Input& input, const Roster& roster, Wants& wants, Peer self);

}  // namespace cairn::reshape
