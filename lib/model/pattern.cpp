#include "model/pattern.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include <fmt/format.h>

namespace cairn::model {
namespace {

// The product of three ratios must fit into a count.
constexpr double kMostRatio = 1e6;
constexpr double kInfinite = std::numeric_limits<double>::infinity();

// What a pattern costs, before its length is chosen.
struct Sums {
  double checkpoints = 0;  // Σ N_i C_i: seconds per pattern
  double rework = 0;       // Σ λ_i / N_i: twice this share of a pattern is lost per second
  double recovery = 0;     // Σ λ_i R_i: seconds per second
  [[nodiscard]] double best_overhead() const { return std::sqrt(2 * checkpoints * rework) + recovery; }
};

// The level that answers failures of `level`.
std::optional<std::size_t> answering(const std::vector<std::uint64_t>& counts, std::size_t level) {
  const auto found = std::find_if(counts.begin() + static_cast<std::ptrdiff_t>(level), counts.end(),
                                  [](std::uint64_t count) { return count > 0; });
  if (found == counts.end()) return std::nullopt;
  return static_cast<std::size_t>(found - counts.begin());
}

// After failures of the lowest `sped_up` levels, work is done again `speedup` times faster.
Sums sums_of(std::span<const LevelModel> levels, const std::vector<std::uint64_t>& counts, double speedup = 1,
             std::size_t sped_up = 0) {
  Sums sums;
  for (std::size_t i = 0; i < levels.size(); ++i) {
    sums.checkpoints += static_cast<double>(counts[i]) * levels[i].cost;
    if (levels[i].rate == 0) continue;
    const auto by = answering(counts, i);
    if (by) {
      sums.rework += levels[i].rate / static_cast<double>(counts[*by]) / (i < sped_up ? speedup : 1);
    } else {
      sums.rework = kInfinite;
    }
    sums.recovery += levels[i].rate * levels[by.value_or(i)].recovery;
  }
  return sums;
}

// Snapshots at the used levels, from ratios of neighbouring ones, lowest first.
using Ratios = std::vector<std::uint64_t>;

std::vector<std::uint64_t> counts_of(std::size_t levels, const std::vector<std::size_t>& used, const Ratios& ratios) {
  std::vector<std::uint64_t> counts(levels, 0);
  std::uint64_t count = 1;
  for (std::size_t i = used.size(); i-- > 0;) {
    if (i < ratios.size()) count *= ratios[i];
    counts[used[i]] = count;
  }
  return counts;
}

// N_i / N_{i+1} of the real-valued optimum, rounded.
Ratios first_ratios(std::span<const LevelModel> levels, const std::vector<std::size_t>& used) {
  std::vector<double> rates(used.size(), 0);
  for (std::size_t level = 0, i = 0; i < used.size(); ++level) {
    rates[i] += levels[level].rate;
    if (level == used[i]) ++i;
  }
  Ratios ratios;
  for (std::size_t i = 0; i + 1 < used.size(); ++i) {
    const double ratio = std::sqrt(levels[used[i + 1]].cost * rates[i] / (rates[i + 1] * levels[used[i]].cost));
    ratios.push_back(static_cast<std::uint64_t>(std::lround(std::clamp(ratio, 1.0, kMostRatio))));
  }
  return ratios;
}

// Ratios that differ from these by at most one each; `number` counts them in base three.
std::optional<Ratios> neighbour(Ratios ratios, std::size_t number) {
  for (std::uint64_t& ratio : ratios) {
    const auto step = number % 3;
    number /= 3;
    if (step == 0 && ratio == 1) return std::nullopt;
    ratio += step;
    ratio -= 1;
  }
  return ratios;
}

// The search begins next to the optimum. If ratios are in the millions, their neighbours differ only by rounding, and
// without a limit the search would wander among them.
constexpr int kMostRounds = 1000;

std::vector<std::uint64_t> best_counts(std::span<const LevelModel> levels, const std::vector<std::size_t>& used) {
  Ratios best = first_ratios(levels, used);
  const auto overhead = [&](const Ratios& ratios) {
    return sums_of(levels, counts_of(levels.size(), used, ratios)).best_overhead();
  };
  std::size_t neighbours = 1;
  for (std::size_t i = 0; i < best.size(); ++i) neighbours *= 3;
  bool better = true;
  for (int round = 0; better && round < kMostRounds; ++round) {
    better = false;
    const Ratios centre = best;
    for (std::size_t number = 0; number < neighbours; ++number) {
      const auto other = neighbour(centre, number);
      if (!other || overhead(*other) >= overhead(best)) continue;
      best = *other;
      better = true;
    }
  }
  return counts_of(levels.size(), used, best);
}

// Each of these levels answers some failures, and no failure is left without an answer.
bool all_needed(std::span<const LevelModel> levels, const std::vector<std::size_t>& used) {
  std::size_t below = 0;
  for (const std::size_t level : used) {
    const auto range = levels.subspan(below, level + 1 - below);
    if (std::ranges::none_of(range, [](const LevelModel& one) { return one.rate > 0; })) return false;
    below = level + 1;
  }
  return std::ranges::all_of(levels.subspan(below), [](const LevelModel& one) { return one.rate == 0; });
}

Pattern no_snapshots(std::size_t levels) { return {kInfinite, std::vector<std::uint64_t>(levels, 0)}; }

Pattern stretched(std::span<const LevelModel> levels, std::vector<std::uint64_t> counts) {
  const Sums sums = sums_of(levels, counts);
  return {std::sqrt(2 * sums.checkpoints / sums.rework), std::move(counts)};
}

}  // namespace

std::uint64_t Pattern::snapshots() const { return counts.empty() ? 0 : *std::ranges::max_element(counts); }

double Pattern::interval() const { return snapshots() == 0 ? kInfinite : work / static_cast<double>(snapshots()); }

std::uint64_t Pattern::every(std::size_t level) const { return uses(level) ? snapshots() / counts[level] : 0; }

Status check(std::span<const LevelModel> levels) {
  if (levels.empty() || levels.size() > std::size_t{kLevels})
    return fail(Code::invalid_argument, fmt::format("a model of {} levels", levels.size()),
                fmt::format("must be 1 to {}", kLevels));
  for (std::size_t i = 0; i < levels.size(); ++i) {
    const auto& [cost, recovery, rate] = levels[i];
    const std::string where = fmt::format("level {} of {}", i + 1, levels.size());
    if (!(cost > 0) || !std::isfinite(cost))
      return fail(Code::invalid_argument, fmt::format("{}: a checkpoint costs {} s", where, cost),
                  "must be more than 0");
    if (!(recovery >= 0) || !std::isfinite(recovery))
      return fail(Code::invalid_argument, fmt::format("{}: a recovery takes {} s", where, recovery),
                  "must be 0 or more");
    if (!(rate >= 0) || !std::isfinite(rate))
      return fail(Code::invalid_argument, fmt::format("{}: {} failures a second", where, rate), "must be 0 or more");
  }
  return {};
}

Result<Pattern> pattern_with(std::span<const LevelModel> levels, const std::vector<bool>& used) {
  if (auto good = check(levels); !good) return fail(good.error());
  std::vector<std::size_t> indices;
  for (std::size_t i = 0; i < levels.size() && i < used.size(); ++i) {
    if (used[i]) indices.push_back(i);
  }
  if (!all_needed(levels, indices))
    return fail(Code::invalid_argument, "the levels do not fit the failures",
                "the highest level must survive all failures; each level must survive more than the level below");
  if (indices.empty()) return no_snapshots(levels.size());
  return stretched(levels, best_counts(levels, indices));
}

Result<Pattern> optimal_pattern(std::span<const LevelModel> levels) {
  if (auto good = check(levels); !good) return fail(good.error());
  Pattern best = no_snapshots(levels.size());
  double least = kInfinite;
  for (std::size_t choice = 1; choice < std::size_t{1} << levels.size(); ++choice) {
    std::vector<std::size_t> used;
    for (std::size_t i = 0; i < levels.size(); ++i) {
      if ((choice >> i & 1U) != 0) used.push_back(i);
    }
    if (!all_needed(levels, used)) continue;
    Pattern candidate = stretched(levels, best_counts(levels, used));
    const double overhead = predict(levels, candidate).total();
    if (overhead >= least) continue;
    least = overhead;
    best = std::move(candidate);
  }
  return best;
}

Pattern at_most(Pattern pattern, std::size_t level, double seconds) {
  auto& counts = pattern.counts;
  const std::uint64_t have =
      *std::ranges::max_element(counts.begin() + static_cast<std::ptrdiff_t>(level), counts.end());
  if (have == 0) return pattern;
  const double parts = std::ceil(pattern.work / static_cast<double>(have) / seconds);
  if (parts <= 1) return pattern;
  counts[level] = have * static_cast<std::uint64_t>(std::min(parts, kMostRatio));
  std::uint64_t above = counts[level];
  for (std::size_t i = level; i-- > 0;) {
    if (!pattern.uses(i)) continue;
    counts[i] = (counts[i] + above - 1) / above * above;
    above = counts[i];
  }
  return pattern;
}

Prediction predict(std::span<const LevelModel> levels, const Pattern& pattern, double speedup, std::size_t sped_up) {
  const Sums sums = sums_of(levels, pattern.counts, speedup, sped_up);
  if (sums.checkpoints == 0 && sums.rework == 0) return {};
  return {sums.checkpoints / pattern.work, sums.rework * pattern.work / 2, sums.recovery};
}

}  // namespace cairn::model
