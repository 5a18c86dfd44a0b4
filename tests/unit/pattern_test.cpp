// The formulas for how often to checkpoint, and what must hold for any costs and rates.
#include "model/pattern.hpp"
#include "support/facts.hpp"

#include <algorithm>
#include <cmath>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cairn::model {
namespace {

using cairn::test::Fails;
using testing::ElementsAre;
using Levels = std::vector<LevelModel>;

constexpr double kHour = 3600;
constexpr int kTries = 500;

double best_overhead(const Levels& levels) { return predict(levels, optimal_pattern(levels).value()).total(); }

// Costs, recoveries and rates of 1 … 4 levels over several orders of magnitude, in no particular order.
Levels any_levels(std::mt19937_64& random) {
  std::uniform_real_distribution<double> exponent(0, 1);
  Levels levels(1 + random() % 4);
  for (LevelModel& level : levels) {
    level.cost = 0.01 * std::pow(1e4, exponent(random));
    level.recovery = 0.01 * std::pow(1e4, exponent(random));
    level.rate = random() % 8 == 0 ? 0 : 1e-7 * std::pow(1e4, exponent(random));
  }
  return levels;
}

TEST(Pattern, of_one_level_is_young_and_daly) {
  const Levels levels{{30, 60, 1 / (8 * kHour)}};
  const Pattern pattern = optimal_pattern(levels).value();
  EXPECT_DOUBLE_EQ(pattern.work, std::sqrt(2 * 30 * 8 * kHour));
  EXPECT_DOUBLE_EQ(pattern.interval(), pattern.work);
  EXPECT_THAT(pattern.counts, ElementsAre(1));
  const Prediction expected = predict(levels, pattern);
  EXPECT_DOUBLE_EQ(expected.checkpoints, expected.rework);
  EXPECT_DOUBLE_EQ(expected.recovery, 60 / (8 * kHour));
}

TEST(Pattern, of_two_levels_is_the_published_formula_rounded) {
  // N1 = sqrt(6 · 20) = 10.95, W = sqrt(2 · 17 / (λ1 / 11 + λ2)).
  const Levels levels{{1, 0.5, 1.0 / 1800}, {6, 4, 1.0 / 36000}};
  const Pattern pattern = optimal_pattern(levels).value();
  EXPECT_THAT(pattern.counts, ElementsAre(11, 1));
  EXPECT_NEAR(pattern.work, std::sqrt(2 * 17 / (1.0 / 1800 / 11 + 1.0 / 36000)), 1e-9);
  EXPECT_EQ(pattern.every(0), 1U);
  EXPECT_EQ(pattern.every(1), 11U);
}

TEST(Pattern, speeds_up_only_work_lost_by_failures_of_the_lowest_levels) {
  const Levels levels{{1, 0.5, 1.0 / 1800}, {6, 4, 1.0 / 36000}};
  const Pattern pattern{2000, {10, 1}};
  // Half an interval is lost: 100 s and 1000 s.
  EXPECT_DOUBLE_EQ(predict(levels, pattern).rework, 100.0 / 1800 + 1000.0 / 36000);
  EXPECT_DOUBLE_EQ(predict(levels, pattern, 5, 1).rework, 20.0 / 1800 + 1000.0 / 36000);
  EXPECT_DOUBLE_EQ(predict(levels, pattern, 5).rework, 20.0 / 1800 + 200.0 / 36000);
  EXPECT_DOUBLE_EQ(predict(levels, pattern, 5, 0).rework, predict(levels, pattern).rework);
}

TEST(Pattern, has_counts_that_no_other_whole_multiples_beat) {
  std::mt19937_64 random(1);
  for (int i = 0; i < kTries / 10; ++i) {
    Levels levels{{1, 1, 0}, {0, 1, 0}, {0, 1, 0}};
    for (LevelModel& level : levels) {
      level.cost = 1 + static_cast<double>(random() % 50);
      level.rate = 1 / (1 + static_cast<double>(random() % 50));
    }
    const Pattern best = pattern_with(levels, {true, true, true}).value();
    const double overhead = predict(levels, best).total();
    for (std::uint64_t low = 1; low <= 60; ++low) {
      for (std::uint64_t middle = 1; middle <= 60; ++middle) {
        Pattern other{best.work, {low * middle, middle, 1}};
        const Prediction once = predict(levels, other);
        other.work *= std::sqrt(once.checkpoints / once.rework);
        EXPECT_GE(predict(levels, other).total(), overhead * (1 - 1e-12)) << low << " " << middle;
      }
    }
  }
}

TEST(Pattern, nests_every_level_in_the_one_below) {
  std::mt19937_64 random(2);
  for (int i = 0; i < kTries; ++i) {
    const Levels levels = any_levels(random);
    std::uint64_t above = 1;
    const Pattern pattern = optimal_pattern(levels).value();
    for (std::size_t level = levels.size(); level-- > 0;) {
      EXPECT_EQ(pattern.counts[level] % above, 0U);
      if (pattern.uses(level)) above = pattern.counts[level];
    }
  }
}

TEST(Pattern, is_found_where_millions_are_as_good) {
  const Levels levels{{1, 1, 1}, {1073741824, 1, 1.0 / 86404}};
  const Pattern pattern = optimal_pattern(levels).value();
  EXPECT_GT(pattern.every(1), 1'000'000U);
}

TEST(Pattern, leaves_out_a_level_that_is_not_worth_it) {
  // L1 costs as much as L2 and saves next to nothing.
  const Levels levels{{10, 5, 1e-9}, {10, 5, 1e-4}};
  EXPECT_THAT(optimal_pattern(levels).value().counts, ElementsAre(0, 1));
  EXPECT_EQ(optimal_pattern(levels).value().every(0), 0U);
}

TEST(Pattern, of_a_job_without_failures_takes_no_snapshots) {
  const Levels levels{{1, 1, 0}, {2, 2, 0}};
  const Pattern pattern = optimal_pattern(levels).value();
  EXPECT_TRUE(std::isinf(pattern.interval()));
  EXPECT_THAT(pattern.counts, ElementsAre(0, 0));
  EXPECT_EQ(predict(levels, pattern).total(), 0);
}

TEST(Pattern, uses_an_idle_level_only_if_it_is_cheaper_than_the_one_below) {
  EXPECT_THAT(optimal_pattern(Levels{{2, 1, 1e-4}, {3, 1, 0}}).value().counts, ElementsAre(1, 0));
  EXPECT_THAT(optimal_pattern(Levels{{2, 1, 1e-4}, {1, 1, 0}}).value().counts, ElementsAre(0, 1));
}

TEST(Pattern, is_the_same_with_a_dearer_level_that_never_fails_as_without_it) {
  std::mt19937_64 random(3);
  for (int i = 0; i < kTries; ++i) {
    Levels levels = any_levels(random);
    std::ranges::sort(levels, {}, &LevelModel::cost);
    for (std::size_t level = 1; level < levels.size(); ++level) {
      levels[level].recovery = std::max(levels[level].recovery, levels[level - 1].recovery);
    }
    if (levels.size() == 1) continue;
    const std::size_t idle = random() % levels.size();
    levels[idle].rate = 0;
    Levels fewer = levels;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(idle));
    const Pattern with = optimal_pattern(levels).value();
    const Pattern without = optimal_pattern(fewer).value();
    EXPECT_EQ(with.work, without.work);
    EXPECT_EQ(with.snapshots(), without.snapshots());
    EXPECT_DOUBLE_EQ(predict(levels, with).total(), predict(fewer, without).total());
  }
}

TEST(Pattern, is_never_helped_by_more_failures) {
  std::mt19937_64 random(4);
  for (int i = 0; i < kTries; ++i) {
    Levels levels = any_levels(random);
    const double before = best_overhead(levels);
    levels[random() % levels.size()].rate += 1e-5;
    EXPECT_GE(best_overhead(levels), before);
  }
}

TEST(Pattern, is_never_hurt_by_cheaper_checkpoints_or_recoveries) {
  std::mt19937_64 random(5);
  for (int i = 0; i < kTries; ++i) {
    Levels levels = any_levels(random);
    const double before = best_overhead(levels);
    levels[random() % levels.size()].cost *= 0.7;
    const double after = best_overhead(levels);
    EXPECT_LE(after, before * (1 + 1e-12));
    levels[random() % levels.size()].recovery *= 0.7;
    EXPECT_LE(best_overhead(levels), after * (1 + 1e-12));
  }
}

TEST(Pattern, is_never_hurt_by_one_more_level_to_choose_from) {
  std::mt19937_64 random(6);
  for (int i = 0; i < kTries; ++i) {
    const Levels levels = any_levels(random);
    const Pattern best = optimal_pattern(levels).value();
    std::vector<bool> only_last(levels.size(), false);
    only_last.back() = true;
    const auto single = pattern_with(levels, only_last);
    if (!single) continue;  // the last level has no failures
    EXPECT_LE(predict(levels, best).total(), predict(levels, *single).total() * (1 + 1e-12));
  }
}

TEST(Pattern, with_a_longest_interval_keeps_the_intervals_of_the_levels_above) {
  const std::vector<LevelModel> levels{{1, 1, 1e-3}, {4, 4, 1e-4}, {20, 20, 1e-5}};
  const Pattern best = optimal_pattern(levels).value();
  ASSERT_TRUE(best.uses(0) && best.uses(1) && best.uses(2));
  EXPECT_EQ(at_most(best, 0, best.interval()).counts, best.counts) << "it is short enough";
  for (const double seconds : {best.interval() * 0.99, best.interval() / 7.5, 0.5}) {
    const Pattern bounded = at_most(best, 0, seconds);
    EXPECT_LE(bounded.interval(), seconds);
    EXPECT_GT(bounded.interval() * 2, seconds) << "it is not cut into more parts than it must be";
    EXPECT_EQ(bounded.work, best.work);
    EXPECT_EQ(bounded.counts[1], best.counts[1]);
    EXPECT_EQ(bounded.counts[2], best.counts[2]);
    EXPECT_EQ(bounded.counts[0] % bounded.counts[1], 0U);
  }
}

// Also where that level was left out.
TEST(Pattern, with_a_longest_interval_of_a_higher_level_has_multiples_below) {
  const std::vector<LevelModel> levels{{1, 1, 1e-3}, {400, 4, 1e-6}, {20, 20, 1e-5}};
  const Pattern best = optimal_pattern(levels).value();
  ASSERT_FALSE(best.uses(1));
  const double seconds = best.work / 2.5;
  const Pattern bounded = at_most(best, 1, seconds);
  EXPECT_EQ(bounded.counts[1], 3 * best.counts[2]);
  EXPECT_EQ(bounded.counts[0] % bounded.counts[1], 0U);
  EXPECT_GE(bounded.counts[0], best.counts[0]);
}

TEST(Pattern, says_which_number_cannot_be) {
  EXPECT_EQ(optimal_pattern(Levels{}).error().code, Code::invalid_argument);
  EXPECT_EQ(optimal_pattern(Levels(5, {1, 1, 1})).error().code, Code::invalid_argument);
  EXPECT_THAT(optimal_pattern(Levels{{1, 1, 1}, {0, 1, 1}}), Fails(Code::invalid_argument, {"level 2", "0"}));
  EXPECT_FALSE(optimal_pattern(Levels{{1, -1, 1}}));
  EXPECT_FALSE(optimal_pattern(Levels{{1, 1, std::nan("")}}));
  EXPECT_FALSE(pattern_with(Levels{{1, 1, 1}, {1, 1, 1}}, {true, false}));
}

}  // namespace
}  // namespace cairn::model
