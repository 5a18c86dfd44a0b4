#include "schedule/auto_schedule.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include <fmt/format.h>

#include "base/duration_text.hpp"
#include "schedule/rank_costs.hpp"

namespace cairn {
namespace {

using model::Pattern;
using std::chrono::microseconds;

constexpr double kNoticeable = 1.2;

bool is_auto(const Config::Levels& levels, LevelId level) { return levels.of(level).kind == Interval::Kind::automatic; }

bool far_apart(double a, double b) { return std::max(a, b) > kNoticeable * std::min(a, b); }

double interval_at(const Pattern& pattern, std::size_t i) {
  return pattern.interval() * static_cast<double>(pattern.every(i));
}

// Compares the time between two snapshots, and between two at each level. A count that differs by one does not matter:
// rounding causes it when a cost varies a little.
bool noticeable(const Pattern& before, const Pattern& now) {
  if (far_apart(before.interval(), now.interval())) return true;
  for (std::size_t i = 0; i < now.counts.size(); ++i) {
    if (before.uses(i) != now.uses(i)) return true;
    if (!now.uses(i)) continue;
    const std::uint64_t was = before.every(i);
    const std::uint64_t is = now.every(i);
    if (std::max(was, is) - std::min(was, is) > 1 && far_apart(interval_at(before, i), interval_at(now, i)))
      return true;
  }
  return false;
}

std::string ordinal(std::uint64_t number) {
  const auto last = number % 10;
  const bool teen = number % 100 / 10 == 1;
  return fmt::format("{}{}", number, teen || last > 3 || last == 0 ? "th" : last == 1 ? "st" : last == 2 ? "nd" : "rd");
}

std::string how_often(const Pattern& pattern, std::size_t i) {
  if (!pattern.uses(i)) return "never";
  return pattern.every(i) == 1 ? "each time" : "every " + ordinal(pattern.every(i));
}

}  // namespace

AutoModel auto_model(const Config::Levels& levels, LevelSet usable, const ModelInputs& figures) {
  AutoModel model;
  double rate = 0;  // of failures that no level so far handles
  for (const LevelId level : kAllLevels) {
    const LevelInputs& of = figures[index(level)];
    rate += 1 / of.mtbf;
    if (!usable.has(level) || levels.of(level).kind == Interval::Kind::off) continue;
    if (is_auto(levels, level)) {
      model.ids.push_back(level);
      model.levels.push_back({of.cost, of.recovery, rate});
    }
    rate = 0;
  }
  const bool each_call = levels.of(LevelId::local) == Interval{Interval::Kind::calls, 1, {}};
  const bool has_local = !model.ids.empty() && model.ids.front() == LevelId::local;
  if (!model.ids.empty() && !has_local && !each_call) model.levels.front().cost += figures[0].cost;
  return model;
}

AutoSchedule::AutoSchedule(const Config::Levels& levels, LevelSet usable) : levels_(levels), usable_(usable) {}

void AutoSchedule::choose(const ModelInputs& figures, const std::optional<LogBound>& bound) {
  figures_ = figures;
  model_ = auto_model(levels_, usable_, figures);
  auto pattern = model::optimal_pattern(model_.levels);
  if (!pattern) return;  // cannot be: there are levels, and their figures are above 0
  pattern_ = std::move(*pattern);
  bound_.reset();
  const auto bounded = bound ? std::ranges::find(model_.ids, bound->level) : model_.ids.end();
  if (bounded != model_.ids.end() && pattern_->snapshots() > 0) {
    const auto level = static_cast<std::size_t>(bounded - model_.ids.begin());
    const auto counts = pattern_->counts;
    *pattern_ = model::at_most(std::move(*pattern_), level, kLogShare * bound->fills_after);
    if (pattern_->counts != counts) bound_ = bound;
  }
  since_.resize(model_.ids.size());
  taken_.resize(model_.ids.size());
}

std::optional<std::string> AutoSchedule::take_news() {
  if (!pattern_ || (told_ && !noticeable(*told_, *pattern_))) return {};
  told_ = pattern_;
  return text();
}

LevelSet AutoSchedule::due(microseconds worked) {
  if (!pattern_) {
    last_ = worked;
    return first_look();
  }
  if (!std::isfinite(pattern_->interval())) return {};
  const microseconds interval(std::max<std::int64_t>(1, std::llround(pattern_->interval() * 1e6)));
  if (worked - last_ < interval) return {};
  last_ = worked - last_ < 2 * interval ? last_ + interval : worked;
  return next_in_pattern();
}

LevelSet AutoSchedule::next_in_pattern() {
  std::size_t highest = 0;
  for (std::size_t i = 0; i < since_.size(); ++i) {
    if (++since_[i] >= pattern_->every(i) && pattern_->uses(i)) highest = i;
  }
  LevelSet due;
  bool try_again = false;
  for (std::size_t i = highest + 1; i-- > 0;) {
    if (pattern_->uses(i)) {
      since_[i] = 0;
      try_again = std::has_single_bit(++taken_[i]);
    }
    if (pattern_->uses(i) || try_again) due.add(model_.ids[i]);
  }
  return due;
}

// The ranks agree on what the first snapshot cost one or two calls later; until then only L1 is due.
LevelSet AutoSchedule::first_look() {
  LevelSet due;
  due.add(LevelId::local);
  for (const LevelId level : kAllLevels) {
    if (!looked_ && usable_.has(level) && is_auto(levels_, level)) due.add(level);
  }
  looked_ = true;
  return due;
}

void AutoSchedule::restart() {
  last_ = microseconds{0};
  std::ranges::fill(since_, 0);
}

bool AutoSchedule::assumes() const {
  return std::ranges::any_of(model_.ids, [&](LevelId level) { return figures_[index(level)].assumed; });
}

std::string AutoSchedule::text() const {
  if (!pattern_) return "no costs are known yet";
  std::string often = std::isfinite(pattern_->interval())
                          ? fmt::format("a snapshot every {}", duration_text(pattern_->interval()))
                          : "no snapshots";
  if (bound_) often += fmt::format(", because a message log fills in {}", duration_text(bound_->fills_after));
  std::string costs;
  std::string mtbfs;
  for (std::size_t i = 0; i < model_.ids.size(); ++i) {
    const LevelId level = model_.ids[i];
    const LevelInputs& of = figures_[index(level)];
    // Every snapshot is at L1.
    if (level != LevelId::local) often += fmt::format(", L{} {}", static_cast<int>(level), how_often(*pattern_, i));
    costs += fmt::format("{}{}{}", i == 0 ? "" : ", ", duration_text(of.cost), of.assumed ? " assumed" : "");
    mtbfs += fmt::format("{}{}", i == 0 ? "" : ", ", duration_text(of.mtbf));
  }
  return fmt::format("{} (cost {}; MTBF {})", often, costs, mtbfs);
}

}  // namespace cairn
