// ckpt-tool simulate: simulates jobs with failures, and compares ways to protect them.
#include <algorithm>
#include <cmath>
#include <fstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "plot.hpp"
#include "text.hpp"

namespace ckpt_tool {
namespace {

using cairn::Code;
using cairn::fail;
using cairn::Result;
using cairn::model::Experiment;
using cairn::model::Pattern;
using cairn::model::predict;
using cairn::model::Protocol;
using cairn::model::Simulated;

struct Strategy {
  std::string name;
  enum class Plan { best, highest_only, given } plan = Plan::best;
  Protocol protocol = Protocol::coordinated;
  std::uint32_t helpers = 1;
};

// After failures of which levels, from the lowest up, only the lost roll back.
std::size_t local_levels(const Scenario& scenario, const SimulateOptions& options) {
  const auto highest = options.survives == "node" ? cairn::LevelId::partner : cairn::LevelId::local;
  return static_cast<std::size_t>(std::ranges::count_if(scenario.ids, [&](auto level) { return level <= highest; }));
}

std::vector<Strategy> strategies(const Scenario& scenario, const SimulateOptions& options) {
  using Plan = Strategy::Plan;
  std::vector<Strategy> all;
  if (scenario.ids.size() > 1)
    all.push_back({fmt::format("{} only", level_text(scenario.ids.back())), Plan::highest_only});
  all.push_back({"best pattern"});
  const Plan plan = options.intervals.empty() ? Plan::best : Plan::given;
  const std::string name = plan == Plan::given ? "given intervals" : all.back().name;
  if (plan == Plan::given) all.push_back({name, plan});
  if (local_levels(scenario, options) == 0) return all;
  all.push_back({name + ", local rollback", plan, Protocol::local});
  for (const std::uint32_t helpers : options.helpers)
    all.push_back({fmt::format("{}, {} helpers", name, helpers), plan, Protocol::local, helpers});
  return all;
}

// The number of snapshots at each level in one interval of the highest, if all are multiples of each other.
Result<Pattern> given_pattern(const std::vector<std::string>& intervals, std::size_t levels) {
  if (intervals.size() != levels)
    return fail(Code::invalid_argument, fmt::format("--intervals: {} for {} levels", intervals.size(), levels));
  Pattern pattern{0, std::vector<std::uint64_t>(levels, 0)};
  double above = 0;
  for (std::size_t i = levels; i-- > 0;) {
    if (intervals[i] == "off") continue;
    const auto interval = parse_seconds(intervals[i]);
    if (!interval) return fail(interval.error().in("--intervals"));
    if (above == 0) above = pattern.work = *interval;
    constexpr double kNearly = 1e-3;  // times are written in decimals
    const double ratio = *interval > 0 ? above / *interval : 0;
    if (!(std::round(ratio) >= 1) || !(std::abs(ratio - std::round(ratio)) <= kNearly * ratio))
      return fail(Code::invalid_argument,
                  fmt::format("--intervals: {} is not a part of the next longer interval", intervals[i]),
                  "each interval must be a multiple of the one before");
    pattern.counts[i] = static_cast<std::uint64_t>(std::llround(pattern.work / *interval));
    above = *interval;
  }
  if (pattern.work == 0) return fail(Code::invalid_argument, "--intervals: all levels are off", "give one an interval");
  return pattern;
}

Result<Pattern> pattern_of(const Scenario& scenario, const SimulateOptions& options, const Strategy& strategy) {
  using Plan = Strategy::Plan;
  if (strategy.plan == Plan::given) return given_pattern(options.intervals, scenario.ids.size());
  if (strategy.plan == Plan::best) return cairn::model::optimal_pattern(scenario.levels);
  std::vector<bool> used(scenario.levels.size(), false);
  used.back() = true;
  return cairn::model::pattern_with(scenario.levels, used);
}

struct Comparison {
  Strategy strategy;
  Pattern pattern;
  double work = 0;
  double predicted = 0;  // share
  Simulated simulated;
  [[nodiscard]] double share() const { return simulated.overhead.mean / work; }
  // By how much the formula misses the simulation.
  [[nodiscard]] double miss() const { return share() > 0 ? predicted / share() - 1 : 0; }
};

Result<Comparison> compare(const Scenario& scenario, const SimulateOptions& options, const Strategy& strategy,
                           double work) {
  auto pattern = pattern_of(scenario, options, strategy);
  if (!pattern) return fail(pattern.error());
  const Experiment experiment{scenario.levels,   *pattern,         work,
                              strategy.protocol, strategy.helpers, local_levels(scenario, options)};
  auto simulated = cairn::model::simulate(experiment, options.simulation);
  if (!simulated) return fail(simulated.error());
  const double predicted = predict(scenario.levels, *pattern, strategy.helpers, experiment.local_levels).total();
  return Comparison{strategy, std::move(*pattern), work, predicted, std::move(*simulated)};
}

std::string overhead_text(const Comparison& one) {
  return fmt::format("{}{} ± {}", one.simulated.unfinished > 0 ? "> " : "", percent_text(one.share()),
                     percent_text(one.simulated.overhead.confidence / one.work));
}

std::string miss_text(const Comparison& one) { return fmt::format("{:+.1f} %", 100 * one.miss()); }

std::string failures_text(const Simulated& simulated) {
  std::string text;
  for (const double mean : simulated.failures) text += fmt::format("{}{:.4g}", text.empty() ? "" : " + ", mean);
  return text;
}

std::string comparison_table(const std::vector<Comparison>& all) {
  std::vector<std::vector<std::string>> rows{{"strategy", "overhead", "one run ±", "checkpoints", "repeated work",
                                              "recovery", "failures", "formula", "formula error"}};
  for (const Comparison& one : all) {
    const Simulated& simulated = one.simulated;
    rows.push_back({one.strategy.name, overhead_text(one), percent_text(simulated.overhead.deviation / one.work),
                    percent_text(simulated.checkpoints / one.work), percent_text(simulated.rework / one.work),
                    percent_text(simulated.recovery / one.work), failures_text(simulated), percent_text(one.predicted),
                    miss_text(one)});
  }
  return table_text(rows);
}

// Times in seconds.
nlohmann::ordered_json json_of(const Scenario& scenario, const SimulateOptions& options, double work,
                               const std::vector<Comparison>& all) {
  nlohmann::ordered_json json{
      {"work", work}, {"runs", options.simulation.runs}, {"strategies", nlohmann::json::array()}};
  for (const Comparison& one : all) {
    const Simulated& simulated = one.simulated;
    auto& entry = json["strategies"].emplace_back();
    entry["name"] = one.strategy.name;
    entry["local_rollback"] = one.strategy.protocol == Protocol::local;
    entry["helpers"] = one.strategy.helpers;
    entry["levels"] = nlohmann::json::array();
    for (std::size_t i = 0; i < scenario.ids.size(); ++i) {
      nlohmann::ordered_json level{{"level", static_cast<int>(scenario.ids[i])}, {"failures", simulated.failures[i]}};
      if (one.pattern.uses(i)) level["interval"] = one.pattern.interval() * static_cast<double>(one.pattern.every(i));
      entry["levels"].push_back(std::move(level));
    }
    entry["overhead"] = {{"mean", simulated.overhead.mean},
                         {"deviation", simulated.overhead.deviation},
                         {"confidence", simulated.overhead.confidence}};
    entry["checkpoints"] = simulated.checkpoints;
    entry["repeated_work"] = simulated.rework;
    entry["recovery"] = simulated.recovery;
    entry["unfinished"] = simulated.unfinished;
    entry["formula"] = one.predicted * work;
  }
  return json;
}

// All strategies, for each factor of the MTBFs: by factor, then in the order of strategies().
struct Sweep {
  std::vector<double> mtbfs;
  std::vector<std::vector<Comparison>> at;
};

Result<Sweep> sweep_mtbf(const Scenario& scenario, const SimulateOptions& options, double work) {
  // From a hundredth of the MTBFs, where the formula fails, to ten times as long.
  constexpr int kPerDecade = 4;
  constexpr int kFirst = -2 * kPerDecade;
  constexpr int kLast = kPerDecade;
  // A job is this many patterns long: enough that its end does not matter, and not longer than needed.
  constexpr double kFewest = 20;
  constexpr double kMost = 200;
  SimulateOptions shorter = options;
  shorter.simulation.runs = std::max<std::uint32_t>(options.simulation.runs / 5, 100);
  Sweep sweep;
  for (int step = kFirst; step <= kLast; ++step) {
    const Scenario other = with_mtbf(scenario, std::pow(10, static_cast<double>(step) / kPerDecade));
    const auto best = cairn::model::optimal_pattern(other.levels);
    if (!best) return fail(best.error());
    // Then a job does little but checkpoint, and the simulation would take for ever.
    if (predict(other.levels, *best).total() > 1 && step < 0) continue;
    sweep.mtbfs.push_back(overall_mtbf(other));
    auto& row = sweep.at.emplace_back();
    for (const Strategy& strategy : strategies(other, options)) {
      const auto pattern = pattern_of(other, options, strategy);
      if (!pattern) return fail(pattern.error());
      auto one = compare(other, shorter, strategy, std::clamp(work, kFewest * pattern->work, kMost * pattern->work));
      if (!one) return fail(one.error());
      row.push_back(std::move(*one));
    }
  }
  return sweep;
}

std::string sweep_table(const Scenario& scenario, const Sweep& sweep, std::size_t best) {
  std::vector<std::vector<std::string>> rows{
      {"MTBF, all levels", "best pattern", "simulated", "formula", "formula error"}};
  for (std::size_t i = 0; i < sweep.at.size(); ++i) {
    const Comparison& one = sweep.at[i][best];
    rows.push_back({duration_text(sweep.mtbfs[i]), pattern_text(scenario, one.pattern), overhead_text(one),
                    percent_text(one.predicted), miss_text(one)});
  }
  return table_text(rows);
}

cairn::Status write_plot(const std::string& file, const Sweep& sweep, std::size_t best) {
  Plot plot{"Cost of protection: simulated, and by the formula", {}, 0};
  for (std::size_t k = 0; k < sweep.at.front().size(); ++k) {
    Series series{sweep.at.front()[k].strategy.name, {}};
    for (std::size_t i = 0; i < sweep.at.size(); ++i)
      series.points.emplace_back(sweep.mtbfs[i], sweep.at[i][k].share());
    plot.series.push_back(std::move(series));
  }
  Series formula{"best pattern, by the formula", {}, true};
  for (std::size_t i = 0; i < sweep.at.size(); ++i)
    formula.points.emplace_back(sweep.mtbfs[i], sweep.at[i][best].predicted);
  plot.series.push_back(std::move(formula));
  constexpr double kMost = 3;  // beyond, a job does little but checkpoint
  plot.most = std::min(kMost, sweep.at.front()[best].share());
  std::ofstream out(file);
  out << svg_text(plot);
  out.close();
  if (!out) return fail(Code::io, file + ": cannot be written");
  return {};
}

}  // namespace

Result<ExitCode> simulate(const SimulateOptions& options) {
  if (!options.paper.empty()) return simulate_paper(options.simulation);
  const auto scenario = read_scenario(options.scenario);
  if (!scenario) return fail(scenario.error());
  const auto work = parse_seconds(options.work);
  if (!work) return fail(work.error().in("--work"));
  if (std::isinf(overall_mtbf(*scenario))) return fail(Code::invalid_argument, "no level ever fails", "give an MTBF");

  std::vector<Comparison> all;
  for (const Strategy& strategy : strategies(*scenario, options)) {
    auto one = compare(*scenario, options, strategy, *work);
    if (!one) return fail(one.error());
    all.push_back(std::move(*one));
  }
  if (options.json) {
    fmt::print("{}\n", json_of(*scenario, options, *work, all).dump(2));
    return kGood;
  }
  const std::size_t best = scenario->ids.size() > 1 ? 1 : 0;
  fmt::print("{} of a job of {} of work; MTBF of all levels {}; means with 95 % confidence, as shares of the work\n\n",
             count_text(options.simulation.runs, "run"), duration_text(*work), duration_text(overall_mtbf(*scenario)));
  fmt::print("{}\n", comparison_table(all));
  for (std::size_t i = 0; i <= best; ++i)
    fmt::print("{}: {} of work\n", all[i].strategy.name, pattern_text(*scenario, all[i].pattern));
  if (all.back().strategy.protocol == Protocol::local)
    fmt::print(
        "local rollback: after a failure up to {}, survivors keep their state and wait; helpers repeat the lost work\n"
        "that many times faster\n",
        level_text(scenario->ids[local_levels(*scenario, options) - 1]));
  fmt::print("\n");

  const auto sweep = sweep_mtbf(*scenario, options, *work);
  if (!sweep) return fail(sweep.error());
  fmt::print("limits of the formula: it ignores failures during checkpoints, recoveries and repeated work\n\n{}",
             sweep_table(*scenario, *sweep, best));
  if (options.plot.empty()) return kGood;
  if (auto written = write_plot(options.plot, *sweep, best); !written) return fail(written.error());
  fmt::print("\nplot: {}\n", options.plot);
  return kGood;
}

}  // namespace ckpt_tool
