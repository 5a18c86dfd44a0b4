#include "schedule/cost_meter.hpp"

#include <algorithm>
#include <cmath>

namespace cairn {
namespace {

using std::chrono::microseconds;

constexpr std::uint32_t kMemory = 8;  // values that the average remembers, about

// Zero says "not known".
microseconds at_least_something(microseconds time) { return std::max(time, microseconds{1}); }

}  // namespace

MovingAverage::MovingAverage(microseconds before)
    : value_(static_cast<double>(before.count())), weight_(before.count() > 0 ? kMemory - 1 : 0) {}

void MovingAverage::add(microseconds value) {
  const auto sample = static_cast<double>(at_least_something(value).count());
  if (!warm_) {
    warm_ = true;
    if (weight_ == 0) value_ = sample;
    return;
  }
  value_ += (sample - value_) / (weight_ + 1);
  weight_ = std::min(weight_ + 1, kMemory - 1);
}

microseconds MovingAverage::value() const { return microseconds(std::llround(value_)); }

CostMeter::CostMeter(const JobCosts& before) {
  for (std::size_t i = 0; i < cost_.size(); ++i) {
    cost_[i] = MovingAverage(time_of(before.levels[i].cost));
    recovery_[i] = time_of(before.levels[i].recovery);
  }
}

void CostMeter::snapshot_took(microseconds stopped, microseconds promoting) {
  stopped_ += stopped;
  cost_[index(LevelId::local)].add(stopped - promoting);
}

void CostMeter::promotion_took(LevelId level, microseconds time) {
  if (index(level) < cost_.size()) cost_[index(level)].add(time);
}

void CostMeter::restore_took(LevelId level, microseconds time) {
  if (index(level) < recovery_.size()) recovery_[index(level)] = at_least_something(time);
  stopped_ = microseconds{0};
}

RankCosts CostMeter::costs() const {
  RankCosts costs{stopped_, {}, recovery_};
  for (std::size_t i = 0; i < cost_.size(); ++i) costs.cost[i] = cost_[i].value();
  return costs;
}

}  // namespace cairn
