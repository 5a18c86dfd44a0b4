// What a rank has measured about its snapshots. The ranks exchange it, and the highest of each number counts.
#pragma once

#include <array>
#include <chrono>

#include "base/ids.hpp"

namespace cairn {

struct RankCosts {
  using Time = std::chrono::microseconds;
  Time stopped{0};                       // inside snapshot(), since the start or the last restore
  std::array<Time, kLevels> cost{};      // of a snapshot at each level; 0: not known
  std::array<Time, kLevels> recovery{};  // of a restore that needed each level; 0: not known
  friend bool operator==(const RankCosts&, const RankCosts&) = default;
};

}  // namespace cairn
