// What a rank has measured about its snapshots. The ranks exchange it, and the highest of each number counts.
#pragma once

#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>

#include "base/ids.hpp"

namespace cairn {

struct RankCosts {
  using Time = std::chrono::microseconds;
  Time stopped{0};                       // inside snapshot(), since the start or the last restore
  std::array<Time, kLevels> cost{};      // of a snapshot at each level; 0: not known
  std::array<Time, kLevels> recovery{};  // of a restore that needed each level; 0: not known
  friend bool operator==(const RankCosts&, const RankCosts&) = default;
};

// Where a level's numbers are in such arrays.
inline std::size_t index(LevelId level) { return static_cast<std::size_t>(level) - 1; }

inline RankCosts::Time time_of(double seconds) { return RankCosts::Time(std::llround(seconds * 1e6)); }

}  // namespace cairn
