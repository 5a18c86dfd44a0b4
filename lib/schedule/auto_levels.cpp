#include "schedule/auto_levels.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include <fmt/format.h>

namespace cairn {
namespace {

using std::chrono::microseconds;

constexpr std::uint64_t kEnoughFailures = 5;
// Until a level has been measured, it is assumed to cost this many times the level below.
constexpr double kAssumedCostRatio = 4;
constexpr std::chrono::seconds kQuiet{60};        // between two lines of the log, or until costs have come in
constexpr std::chrono::seconds kRecordAtMost{1};  // one record in so long
constexpr int kRecordShare = 20;

double seconds_of(microseconds time) { return std::chrono::duration<double>(time).count(); }

// A log that fills a little faster or slower is no reason to choose again.
constexpr double kOtherPace = 1.1;

bool same_costs(const RankCosts& a, const RankCosts& b) { return a.cost == b.cost && a.recovery == b.recovery; }

bool same_bound(const std::optional<LogBound>& a, const std::optional<LogBound>& b) {
  if (!a || !b) return a.has_value() == b.has_value();
  return std::max(a->fills_after, b->fills_after) < kOtherPace * std::min(a->fills_after, b->fills_after);
}

}  // namespace

LevelId level_that_cuts_logs(const Config& config, LevelSet usable) {
  if (config.replay.survives == Config::Replay::Survives::process) return LevelId::local;
  for (const LevelId level : kAllLevels)
    if (level > LevelId::local && usable.has(level)) return level;
  return LevelId::local;
}

std::unique_ptr<AutoLevels> AutoLevels::make(const Config& config, LevelSet usable, Incarnation life,
                                             std::uint32_t nodes, const std::optional<JobCosts>& before) {
  const bool some = std::ranges::any_of(kAllLevels, [&](LevelId level) {
    return usable.has(level) && config.levels.of(level).kind == Interval::Kind::automatic;
  });
  if (!some) return nullptr;
  return std::unique_ptr<AutoLevels>(new AutoLevels(config, usable, life, nodes, before.value_or(JobCosts{})));
}

AutoLevels::AutoLevels(const Config& config, LevelSet usable, Incarnation life, std::uint32_t nodes,
                       const JobCosts& before)
    : schedule_(config.levels, usable),
      cuts_logs_(level_that_cuts_logs(config, usable)),
      meter_(before),
      life_(life),
      after_failure_(before.life.value != 0 && !before.ended),
      observed_(time_of(before.observed)),
      costs_(meter_.costs()) {
  const double scale = config.failures.nodes == 0 ? 1 : static_cast<double>(config.failures.nodes) / nodes;
  for (std::size_t i = 0; i < failures_.size(); ++i) {
    configured_mtbf_[i] = seconds_of(config.failures.mtbf[i]) * scale;
    failures_[i] = before.levels[i].failures;
  }
}

void AutoLevels::restored(std::optional<LevelId> highest, microseconds time) {
  const bool failed = std::exchange(after_failure_, false);
  if (!highest) return;
  if (failed) ++failures_[static_cast<std::size_t>(*highest) - 1];
  meter_.restore_took(*highest, time);
  schedule_.restart();
  observed_ += std::exchange(elapsed_, microseconds{0});
}

LevelSet AutoLevels::due(const Pulse::Beat& beat) {
  note_log(beat);
  const auto bound = log_bound();
  const bool same = same_costs(costs_, beat.costs) && same_bound(bound_, bound);
  elapsed_ = beat.elapsed;
  costs_ = beat.costs;
  const bool known = costs_.cost[0].count() > 0;
  // The job's own MTBFs grow while there are no failures.
  const bool later = observed() - chosen_at_ > chosen_at_ / kRecordShare;
  if (known && (!same || later || !schedule_.pattern())) {
    schedule_.choose(figures(), bound);
    bound_ = bound;
    chosen_at_ = observed();
  }
  return schedule_.due(elapsed_ - costs_.stopped);
}

// Before elapsed_ and costs_ are those of this beat. After a restore, both kinds of numbers begin from 0 again.
void AutoLevels::note_log(const Pulse::Beat& beat) {
  const microseconds worked = (beat.elapsed - beat.costs.stopped) - (elapsed_ - costs_.stopped);
  const std::uint64_t before = std::exchange(logged_, beat.logged);
  if (worked.count() <= 0 || beat.logged < before) return;
  log_time_ += worked;
  log_filled_ += beat.logged - before;
}

std::optional<LogBound> AutoLevels::log_bound() const {
  if (log_filled_ == 0) return {};
  constexpr double kWhole = 1e6;  // in millionths
  return LogBound{cuts_logs_, seconds_of(log_time_) * kWhole / static_cast<double>(log_filled_)};
}

ModelInputs AutoLevels::figures() const {
  ModelInputs figures;
  double below = 0;
  for (std::size_t i = 0; i < figures.size(); ++i) {
    LevelInputs& level = figures[i];
    level.assumed = costs_.cost[i].count() == 0;
    level.cost = level.assumed ? below * kAssumedCostRatio : seconds_of(costs_.cost[i]);
    level.recovery = costs_.recovery[i].count() == 0 ? level.cost : seconds_of(costs_.recovery[i]);
    level.mtbf = mtbf(i);
    below = level.cost;
  }
  return figures;
}

double AutoLevels::mtbf(std::size_t level) const {
  const auto seen = std::accumulate(failures_.begin(), failures_.end(), std::uint64_t{0});
  const bool own = seen >= kEnoughFailures && failures_[level] > 0 && observed().count() > 0;
  return own ? seconds_of(observed()) / static_cast<double>(failures_[level]) : configured_mtbf_[level];
}

std::optional<std::string> AutoLevels::take_news() {
  const bool too_early = told_at_ ? observed() < *told_at_ + kQuiet : schedule_.assumes() && elapsed_ < kQuiet;
  if (too_early) return {};
  const auto news = schedule_.take_news();
  if (!news) return {};
  told_at_ = observed();
  return "auto: " + *news;
}

std::optional<JobCosts> AutoLevels::take_record() {
  const microseconds pause = std::max<microseconds>(kRecordAtMost, elapsed_ / kRecordShare);
  if (recorded_at_ && observed() < *recorded_at_ + pause) return {};
  recorded_at_ = observed();
  return record();
}

JobCosts AutoLevels::record() const {
  JobCosts record;
  for (std::size_t i = 0; i < record.levels.size(); ++i) {
    record.levels[i] = {seconds_of(costs_.cost[i]), seconds_of(costs_.recovery[i]), mtbf(i), failures_[i]};
  }
  record.observed = seconds_of(observed());
  record.life = life_;
  return record;
}

}  // namespace cairn
