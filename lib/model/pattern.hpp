// How often to checkpoint at each of several levels, computed from the cost of each level and from the rate of the
// failures that need it: the optimal pattern of Benoit, Cavelan, Le Fèvre, Robert, Sun, "Towards Optimal Multi-level
// Checkpointing", IEEE TC 2016, DOI 10.1109/TC.2016.2643660. Pure; thread-safe; seconds throughout.
//
// Levels go from the cheapest, index 0, to the one that survives most. A failure "of level i" is one after which level
// i is the lowest that can still be restored. A snapshot at level i is one at all used levels below it too, as in
// Cairn, where every snapshot starts on L1 and is promoted: `cost` is what level i adds to that, so that a snapshot at
// levels 1 and 2 costs C1 + C2.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "base/error.hpp"
#include "base/ids.hpp"

namespace cairn::model {

struct LevelModel {
  double cost = 0;      // C: seconds that the application loses to this level at a snapshot; above 0
  double recovery = 0;  // R: seconds from a failure to running again from this level, without the work done again
  double rate = 0;      // λ: failures of this level a second, 1/MTBF; 0: there are none
};

// Equally spaced snapshots that repeat after `work` seconds of work. The counts are multiples of each other: with n =
// counts[0] / counts[i], every n-th of the counts[0] snapshots of a pattern is also at level i.
struct Pattern {
  double work = std::numeric_limits<double>::infinity();  // W; infinite: there are no failures, take no snapshot
  std::vector<std::uint64_t>
      counts;  // N: snapshots at each level in W; 0: the level is left out; the highest used has 1

  [[nodiscard]] bool uses(std::size_t level) const { return counts[level] > 0; }
  // The number of snapshots in W, of all levels.
  [[nodiscard]] std::uint64_t snapshots() const;
  // Seconds of work between one snapshot and the next.
  [[nodiscard]] double interval() const;
  // n, if every n-th snapshot is at this level; 0: none is.
  [[nodiscard]] std::uint64_t every(std::size_t level) const;
};

// The pattern of least expected overhead. In real numbers, with k the highest level,
//   N_i = sqrt(C_k λ_i / (λ_k C_i)),   W = sqrt(2 Σ N_i C_i / Σ (λ_i / N_i)).
// The counts are then rounded to whole multiples of each other by a search among neighbours, and W follows from them.
// Levels that are not worth their cost are left out; the next used level above answers their failures. The highest
// level with failures is always used, unless one above it costs less.
//
// For one level this is W = sqrt(2 C / λ), the interval of Young (1974) and, to first order, of Daly (2006). As W / N_i
// = sqrt(2 C_i / λ_i), each level has its own Young/Daly interval, except for rounding.
//
// invalid_argument: no level, more than kLevels, or an impossible number.
[[nodiscard]] Result<Pattern> optimal_pattern(std::span<const LevelModel> levels);

// The best pattern with snapshots at the levels of `used`, and at no others. invalid_argument also if a failure is
// possible that no used level survives.
[[nodiscard]] Result<Pattern> pattern_with(std::span<const LevelModel> levels, const std::vector<bool>& used);

// The same pattern, with more snapshots at `level` and at the used levels below it, so that at most `seconds` of work
// pass between two snapshots at `level` or above. The snapshots above stay where they are: the work between two of them
// is cut into ceil(work / seconds) equal parts. Requires: the pattern has snapshots; seconds is above 0.
[[nodiscard]] Pattern at_most(Pattern pattern, std::size_t level, double seconds);

// The expected overhead as a share of the work, to first order in λ: it ignores failures during checkpoints, recoveries
// and work done again, and so is too low if there are many of those (see simulation.hpp).
struct Prediction {
  double checkpoints = 0;
  double rework = 0;  // work done again; infinite if a failure is possible that no used level survives
  double recovery = 0;
  [[nodiscard]] double total() const { return checkpoints + rework + recovery; }
};

// `speedup`: how many times faster lost work is done again than the first time, after failures of the lowest
// `sped_up` levels.
[[nodiscard]] Prediction predict(std::span<const LevelModel> levels, const Pattern& pattern, double speedup = 1,
                                 std::size_t sped_up = kLevels);

// Says which level is the first one with an impossible number, and which number that is.
[[nodiscard]] Status check(std::span<const LevelModel> levels);

}  // namespace cairn::model
