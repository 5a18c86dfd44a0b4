#include "model/simulation.hpp"

#include <algorithm>
#include <cmath>
#include <thread>

#include <fmt/format.h>

#include "model/run.hpp"

namespace cairn::model {
namespace {

constexpr double kQuantile95 = 1.959964;  // of the normal distribution, two-sided

Status check(const Experiment& experiment, const SimulationOptions& options) {
  if (auto good = check(experiment.levels); !good) return good;
  const auto& [work, counts] = experiment.pattern;
  if (counts.size() != experiment.levels.size())
    return fail(Code::invalid_argument, fmt::format("{} counts of {} levels", counts.size(), experiment.levels.size()));
  std::uint64_t above = 1;
  for (std::size_t i = counts.size(); i-- > 0;) {
    if (counts[i] % above != 0)
      return fail(Code::invalid_argument, "counts of a pattern must be multiples, highest first");
    if (counts[i] > 0) above = counts[i];
  }
  if (!(work > 0)) return fail(Code::invalid_argument, fmt::format("a pattern of {} s", work), "must be more than 0");
  if (!(experiment.work > 0) || !std::isfinite(experiment.work))
    return fail(Code::invalid_argument, fmt::format("{} s of work", experiment.work), "must be more than 0");
  if (experiment.helpers == 0) return fail(Code::invalid_argument, "0 helpers", "must be 1 or more");
  if (options.runs == 0) return fail(Code::invalid_argument, "0 runs", "must be 1 or more");
  return {};
}

std::vector<RunOutcome> play_all(const Experiment& experiment, const SimulationOptions& options) {
  std::vector<RunOutcome> outcomes(options.runs);
  const std::uint32_t wanted = options.threads > 0 ? options.threads : std::thread::hardware_concurrency();
  const std::uint32_t threads = std::clamp(wanted, std::uint32_t{1}, options.runs);
  const auto play_share = [&](std::uint32_t first) {
    for (std::uint32_t i = first; i < options.runs; i += threads) {
      outcomes[i] = Run(experiment, options.seed, i).play();
    }
  };
  std::vector<std::jthread> others;
  for (std::uint32_t i = 1; i < threads; ++i) others.emplace_back(play_share, i);
  play_share(0);
  return outcomes;
}

Statistic statistic_of(const std::vector<double>& values) {
  const auto count = static_cast<double>(values.size());
  Statistic statistic;
  for (const double value : values) statistic.mean += value / count;
  if (values.size() < 2) return statistic;
  double squares = 0;
  for (const double value : values) squares += (value - statistic.mean) * (value - statistic.mean);
  statistic.deviation = std::sqrt(squares / (count - 1));
  statistic.confidence = kQuantile95 * statistic.deviation / std::sqrt(count);
  return statistic;
}

}  // namespace

Result<Simulated> simulate(const Experiment& experiment, const SimulationOptions& options) {
  if (auto good = check(experiment, options); !good) return fail(good.error());
  const auto outcomes = play_all(experiment, options);
  const auto count = static_cast<double>(outcomes.size());
  Simulated result;
  result.failures.resize(experiment.levels.size());
  std::vector<double> overheads;
  overheads.reserve(outcomes.size());
  for (const RunOutcome& outcome : outcomes) {
    overheads.push_back(outcome.total - experiment.work);
    result.checkpoints += outcome.checkpoints / count;
    result.recovery += outcome.recovery / count;
    for (std::size_t i = 0; i < result.failures.size(); ++i) result.failures[i] += outcome.failures[i] / count;
    if (!outcome.finished) ++result.unfinished;
  }
  result.overhead = statistic_of(overheads);
  result.rework = result.overhead.mean - result.checkpoints - result.recovery;
  return result;
}

}  // namespace cairn::model
