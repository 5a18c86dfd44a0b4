// What snapshots and restores cost, as one rank sees it. Times are handed in, so no clock is read here.
//
// The cost of L1 is what the application sees of a snapshot: from the call to its return, waits for a free slot
// included. The cost of a higher level is the time that a node's head works on raising one snapshot there, in every
// head mode. With [head] mode = inline the application stops for exactly that time. Otherwise the application goes on
// meanwhile, slowed down. How much cannot be measured from inside, but it is not more than that time. So the full time
// is counted. Then the loss that the model expects is an upper bound, and the head's work is so small a share of all
// time that promotions never pile up. If the real slow-down is a share s of that time, the intervals are 1/sqrt(s)
// times the best ones, and near the best the overhead changes little.
//
// One thread.
#pragma once

#include <chrono>
#include <cstdint>

#include "base/ids.hpp"
#include "format/job_costs.hpp"
#include "schedule/rank_costs.hpp"

namespace cairn {

// A mean in which the last few values count most. The first value of a life is measured with cold memory, and counts
// only while there is no other.
class MovingAverage {
 public:
  MovingAverage() = default;
  // Goes on from what was known before.
  explicit MovingAverage(std::chrono::microseconds before);
  void add(std::chrono::microseconds value);
  [[nodiscard]] std::chrono::microseconds value() const;  // 0: nothing known

 private:
  double value_ = 0;
  std::uint32_t weight_ = 0;  // of value_, in values
  bool warm_ = false;
};

class CostMeter {
 public:
  // `before`: of earlier lives.
  explicit CostMeter(const JobCosts& before);

  // A snapshot stopped the application for `stopped`, of which `promoting` went to raising snapshots to higher levels.
  void snapshot_took(std::chrono::microseconds stopped, std::chrono::microseconds promoting);
  void promotion_took(LevelId level, std::chrono::microseconds time);
  // A restore for which `level` was the highest that was needed. Time counts anew from here.
  void restore_took(LevelId level, std::chrono::microseconds time);

  [[nodiscard]] RankCosts costs() const;

 private:
  std::chrono::microseconds stopped_{0};
  std::array<MovingAverage, kLevels> cost_;
  std::array<std::chrono::microseconds, kLevels> recovery_{};
};

}  // namespace cairn
