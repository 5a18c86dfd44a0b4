#include "rollback/phase.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

namespace cairn::rollback {
namespace {

using enum Phase;

constexpr std::array kSteps{
    std::pair{computing, struck}, std::pair{computing, voted}, std::pair{struck, voted}, std::pair{voted, met},
    std::pair{met, joined},       std::pair{met, computing},   std::pair{met, voted},    std::pair{joined, computing},
    std::pair{joined, struck},    std::pair{joined, voted},
};

struct Row {
  RankState rank;
  std::array<bool, 5> phases;
};

// A replacement that has not left restore() cannot continue after another failure, so it never meets others with its
// session. It is unchecked where it could not take what survivors shipped to it.
constexpr std::array kRanks{
    //                                     computing, struck, voted, met, joined
    Row{{Origin::first, false, false}, {true, true, true, true, true}},
    Row{{Origin::first, false, true}, {true, true, true, true, true}},
    Row{{Origin::first, true, true}, {true, true, true, true, true}},
    Row{{Origin::replacement, false, false}, {false, true, true, false, true}},
    Row{{Origin::replacement, false, true}, {false, true, true, false, false}},
};

}  // namespace

bool may_follow(Phase before, Phase next, bool computes) {
  if (next == met && !computes) return true;
  return std::ranges::find(kSteps, std::pair{before, next}) != kSteps.end();
}

bool can_be(Phase phase, const RankState& rank) {
  const auto row = std::ranges::find(kRanks, rank, &Row::rank);
  return row != kRanks.end() && row->phases.at(static_cast<std::size_t>(phase));
}

}  // namespace cairn::rollback
