// ckpt-tool plan: how often to checkpoint, and what that is expected to cost.
#include <chrono>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "commands.hpp"
#include "config/config.hpp"
#include "text.hpp"

namespace ckpt_tool {
namespace {

using cairn::LevelId;
using cairn::model::Pattern;
using cairn::model::predict;

constexpr double kFrequent = 0.1;  // overhead above which the formula is some percent too low

std::string levels_table(const Scenario& scenario, const Pattern& pattern) {
  std::vector<std::vector<std::string>> rows{{"level", "cost", "recovery", "MTBF", "snapshot every", "per pattern"}};
  for (std::size_t i = 0; i < scenario.ids.size(); ++i) {
    const auto& level = scenario.levels[i];
    const double interval = pattern.interval() * static_cast<double>(pattern.every(i));
    rows.push_back({level_text(scenario.ids[i]), duration_text(level.cost), duration_text(level.recovery),
                    duration_text(1 / level.rate), pattern.uses(i) ? duration_text(interval) + " of work" : "off",
                    pattern.uses(i) ? fmt::format("{}", pattern.counts[i]) : ""});
  }
  return table_text(rows);
}

// As the configuration writes times.
std::string ini_time(std::chrono::milliseconds time) {
  constexpr std::pair<std::int64_t, const char*> kUnits[] = {
      {86400000, "d"}, {3600000, "h"}, {60000, "min"}, {1000, "s"}};
  for (const auto& [unit, name] : kUnits) {
    if (time.count() % unit == 0) return fmt::format("{}{}", time.count() / unit, name);
  }
  return fmt::format("{}ms", time.count());
}

// The whole milliseconds nearest to `digits` significant digits; at least one, at most what the configuration takes.
std::chrono::milliseconds rounded(double seconds, int digits) {
  if (seconds >= std::chrono::duration<double>(cairn::kLongestTime).count()) return cairn::kLongestTime;
  const double unit = std::pow(10, std::floor(std::log10(seconds)) + 1 - digits);
  const auto count = std::llround(std::round(seconds / unit) * unit * 1000);
  return std::chrono::milliseconds(std::max<std::int64_t>(1, count));
}

// Every level is a multiple of the shortest, so that they fall on the same snapshots. Two digits are enough: the
// overhead is flat around its least. A level that is due more rarely than the configuration can express is off.
// `nodes`: for which the MTBFs hold; 0: not known.
std::string ini_text(const Scenario& scenario, const Pattern& pattern, std::uint32_t nodes) {
  std::string text = "[levels]\n";
  const auto interval = pattern.snapshots() > 0 ? rounded(pattern.interval(), 2) : std::chrono::milliseconds{0};
  for (const LevelId level : cairn::kAllLevels) {
    std::string value = "off";
    for (std::size_t i = 0; i < scenario.ids.size(); ++i) {
      if (scenario.ids[i] != level || !pattern.uses(i)) continue;
      const std::uint64_t every = pattern.every(i);
      if (every <= static_cast<std::uint64_t>(cairn::kLongestTime / interval))
        value = ini_time(interval * static_cast<std::int64_t>(every));
    }
    text += fmt::format("l{} = {}\n", static_cast<int>(level), value);
  }
  std::string mtbfs;
  for (const auto& level : scenario.levels) {
    if (level.rate == 0) return text;
    mtbfs += (mtbfs.empty() ? "" : ", ") + ini_time(rounded(1 / level.rate, 4));
  }
  if (scenario.ids.size() != std::size(cairn::kAllLevels)) return text;
  text += "[failures]\nmtbf = " + mtbfs + "\n";
  if (nodes > 0) text += fmt::format("nodes = {}\n", nodes);
  return text;
}

cairn::Result<std::string> sensitivity_table(const Scenario& scenario, const Pattern& pattern) {
  constexpr std::pair<double, const char*> kFactors[] = {{0.5, "half as long"}, {1, "as given"}, {2, "twice as long"}};
  std::vector<std::vector<std::string>> rows{
      {"if MTBFs are", "this pattern costs", "the best pattern costs", "the best pattern is"}};
  for (const auto& [factor, name] : kFactors) {
    const Scenario other = with_mtbf(scenario, factor);
    const auto best = cairn::model::optimal_pattern(other.levels);
    if (!best) return cairn::fail(best.error());
    rows.push_back({name, percent_text(predict(other.levels, pattern).total()),
                    percent_text(predict(other.levels, *best).total()), pattern_text(other, *best)});
  }
  return table_text(rows);
}

}  // namespace

cairn::Result<ExitCode> plan(const ScenarioOptions& options) {
  const auto scenario = read_scenario(options);
  if (!scenario) return cairn::fail(scenario.error());
  const auto pattern = cairn::model::optimal_pattern(scenario->levels);
  if (!pattern) return cairn::fail(pattern.error());
  const auto sensitivity = sensitivity_table(*scenario, *pattern);
  if (!sensitivity) return cairn::fail(sensitivity.error());
  const auto expected = predict(scenario->levels, *pattern);
  fmt::print("{}\n", levels_table(*scenario, *pattern));
  fmt::print("expected overhead: {} of the work: checkpoints {}, repeated work {}, recovery {}\n",
             percent_text(expected.total()), percent_text(expected.checkpoints), percent_text(expected.rework),
             percent_text(expected.recovery));
  if (expected.total() > kFrequent)
    fmt::print("failures are frequent here, so this estimate is too low: ckpt-tool simulate shows by how much\n");
  fmt::print("\n{}\nfor the INI file:\n\n{}", *sensitivity, ini_text(*scenario, *pattern, options.nodes));
  return kGood;
}

}  // namespace ckpt_tool
