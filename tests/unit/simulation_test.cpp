// What a simulated job must show: the published numbers, the formulas where they hold, and the same for the same seed.
#include "model/simulation.hpp"

#include <algorithm>
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/bondarenko2019.hpp"

namespace cairn::model {
namespace {

constexpr double kHourSeconds = 3600;

Experiment with_best_pattern(std::vector<LevelModel> levels, double work) {
  Pattern pattern = optimal_pattern(levels).value();
  return {std::move(levels), std::move(pattern), work, Protocol::coordinated, 1};
}

Simulated run(const Experiment& experiment, std::uint32_t runs, std::uint64_t seed = 1, std::uint32_t threads = 0) {
  return simulate(experiment, {runs, seed, threads}).value();
}

TEST(Simulation, reproduces_the_published_table) {
  // The mean of 4000 runs is known to 2.3 % at worst. The aim was 5 % for coordinated and 20 % for asynchronous
  // recovery; this reading of the rules keeps to 5 % for both.
  for (const bondarenko2019::Row& row : bondarenko2019::table()) {
    const Simulated result = run(row.experiment, 4000);
    EXPECT_NEAR(result.overhead.mean, row.overhead, 0.05 * row.overhead);
    EXPECT_LT(result.overhead.confidence, 0.023 * row.overhead);
    for (std::size_t level = 0; level < row.failures.size(); ++level) {
      const double half_a_digit = 0.05;
      EXPECT_NEAR(result.failures[level], row.failures[level], std::max(0.05 * row.failures[level], half_a_digit));
    }
  }
}

TEST(Simulation, agrees_with_the_formula_where_failures_are_rare) {
  for (const double mtbf : {20 * kHourSeconds, 100 * kHourSeconds, 1000 * kHourSeconds}) {
    const std::vector<LevelModel> levels{{1, 2, 1 / mtbf}, {6, 10, 0.3 / mtbf}, {40, 60, 0.05 / mtbf}};
    const Experiment experiment = with_best_pattern(levels, 30 * mtbf);
    const double predicted = predict(levels, experiment.pattern).total() * experiment.work;
    EXPECT_NEAR(run(experiment, 400).overhead.mean, predicted, 0.05 * predicted) << mtbf;
  }
}

TEST(Simulation, costs_more_than_the_formula_where_failures_are_frequent) {
  const std::vector<LevelModel> levels{{1, 0.5, 1.0 / 30}, {6, 4, 1.0 / 150}};
  const Experiment experiment = with_best_pattern(levels, kHourSeconds);
  EXPECT_GT(run(experiment, 500).overhead.mean, 1.3 * kHourSeconds * predict(levels, experiment.pattern).total());
}

TEST(Simulation, gives_the_same_numbers_whatever_the_threads) {
  const Experiment experiment = with_best_pattern({{1, 0.5, 1.0 / 180}, {6, 4, 1.0 / 900}}, kHourSeconds);
  const Simulated one = run(experiment, 301, 7, 1);
  const Simulated many = run(experiment, 301, 7, 5);
  EXPECT_EQ(one.overhead.mean, many.overhead.mean);
  EXPECT_EQ(one.overhead.deviation, many.overhead.deviation);
  EXPECT_EQ(one.failures, many.failures);
  EXPECT_NE(run(experiment, 301, 8, 1).overhead.mean, one.overhead.mean);
}

TEST(Simulation, without_failures_pays_for_checkpoints_only) {
  // 9 snapshots at L1 between 0 and 100 s of work, of which the 4th and the 8th are at L2: none at the end.
  Experiment experiment{{{1, 5, 0}, {3, 5, 0}}, {40, {4, 1}}, 100, Protocol::coordinated, 1};
  const Simulated result = run(experiment, 10);
  EXPECT_DOUBLE_EQ(result.overhead.mean, 9 * 1 + 2 * 3);
  EXPECT_DOUBLE_EQ(result.checkpoints, 15);
  EXPECT_EQ(result.overhead.deviation, 0);
  EXPECT_NEAR(result.rework, 0, 1e-9);
  EXPECT_EQ(result.unfinished, 0U);
}

TEST(Simulation, of_one_level_meets_the_exact_expectation) {
  // A segment of w + C seconds takes e^(λR) (e^(λ(w+C)) − 1) / λ (Daly 2006): here far from first order.
  const double rate = 1.0 / 100;
  const double segment = 50;
  const int segments = 40;
  Experiment experiment{{{5, 20, rate}}, {segment, {1}}, segments * segment, Protocol::coordinated, 1};
  const auto expected = [&](double seconds) { return std::exp(rate * 20) * std::expm1(rate * seconds) / rate; };
  const double total = (segments - 1) * expected(segment + 5) + expected(segment);
  const Simulated result = run(experiment, 5000);
  EXPECT_NEAR(result.overhead.mean + experiment.work, total, 2 * result.overhead.confidence);
  EXPECT_NEAR(result.overhead.mean, result.checkpoints + result.rework + result.recovery, 1e-6);
}

TEST(Simulation, more_helpers_make_asynchronous_recovery_cheaper) {
  Experiment experiment = with_best_pattern({{1, 0.5, 1.0 / 360}, {6, 4, 1.0 / 1800}}, kHourSeconds);
  double before = run(experiment, 1000).overhead.mean;
  experiment.protocol = Protocol::asynchronous;
  for (const std::uint32_t helpers : {2U, 5U, 20U}) {
    experiment.helpers = helpers;
    const double now = run(experiment, 1000).overhead.mean;
    EXPECT_LT(now, before) << helpers;
    before = now;
  }
}

// Failures so frequent that many strike checkpoints and recoveries.
Experiment with_local_rollback(std::size_t local_levels) {
  Experiment experiment = with_best_pattern({{10, 10, 1.0 / 100}, {20, 40, 1.0 / 500}}, kHourSeconds);
  experiment.protocol = Protocol::local;
  experiment.local_levels = local_levels;
  return experiment;
}

TEST(Simulation, local_rollback_of_no_level_is_coordinated) {
  Experiment experiment = with_local_rollback(0);
  const Simulated local = run(experiment, 300);
  experiment.protocol = Protocol::coordinated;
  EXPECT_EQ(local.overhead.mean, run(experiment, 300).overhead.mean);
}

TEST(Simulation, local_rollback_keeps_survivors_also_after_failures_during_checkpoints) {
  Experiment experiment = with_local_rollback(2);
  experiment.helpers = 5;
  const double local = run(experiment, 1000).overhead.mean;
  experiment.protocol = Protocol::asynchronous;
  const double asynchronous = run(experiment, 1000).overhead.mean;
  EXPECT_LT(local, 0.95 * asynchronous);
}

TEST(Simulation, local_rollback_of_more_levels_costs_less_with_helpers) {
  double before = run(with_local_rollback(0), 1000).overhead.mean;
  for (const std::size_t levels : {1U, 2U}) {
    Experiment experiment = with_local_rollback(levels);
    experiment.helpers = 5;
    const double now = run(experiment, 1000).overhead.mean;
    EXPECT_LT(now, before) << levels;
    before = now;
  }
}

TEST(Simulation, plain_replay_of_failures_during_work_takes_as_long_as_work_done_again) {
  // Survivors wait for as long as they would compute. What differs are failures that strike the replay: the place where
  // the survivors wait stays theirs.
  Experiment experiment{{{1, 0, 1.0 / 2000}}, {50, {1}}, kHourSeconds, Protocol::local, 1};
  const Simulated local = run(experiment, 4000);
  experiment.protocol = Protocol::coordinated;
  const Simulated coordinated = run(experiment, 4000);
  EXPECT_NEAR(local.rework, coordinated.rework, 2 * (local.overhead.confidence + coordinated.overhead.confidence));
}

TEST(Simulation, more_failures_never_help_and_cheaper_checkpoints_never_hurt) {
  std::vector<LevelModel> levels{{1, 0.5, 1.0 / 1800}, {6, 4, 1.0 / 9000}};
  double before = run(with_best_pattern(levels, kHourSeconds), 2000).overhead.mean;
  for (int i = 0; i < 4; ++i) {
    levels[static_cast<std::size_t>(i) % 2].rate *= 2;
    const double now = run(with_best_pattern(levels, kHourSeconds), 2000).overhead.mean;
    EXPECT_GT(now, before);
    before = now;
  }
  for (int i = 0; i < 4; ++i) {
    levels[static_cast<std::size_t>(i) % 2].cost /= 2;
    const double now = run(with_best_pattern(levels, kHourSeconds), 2000).overhead.mean;
    EXPECT_LT(now, before);
    before = now;
  }
}

TEST(Simulation, starts_over_after_a_failure_that_no_level_survives) {
  // All failures are of L2, all snapshots at L1: as if there were none.
  const Experiment experiment{{{1, 5, 0}, {3, 5, 1.0 / 100}}, {10, {1, 0}}, 50, Protocol::coordinated, 1};
  const Simulated result = run(experiment, 5000);
  const double expected = std::exp(5.0 / 100) * std::expm1(54.0 / 100) * 100;
  EXPECT_NEAR(result.overhead.mean + 50, expected, 2 * result.overhead.confidence);
}

TEST(Simulation, gives_up_a_run_that_gets_nowhere) {
  const Experiment experiment{{{1, 1, 1}}, {1000, {1}}, 1000, Protocol::coordinated, 1};
  const Simulated result = run(experiment, 3);
  EXPECT_EQ(result.unfinished, 3U);
  EXPECT_GE(result.overhead.mean, (kPatience - 1) * 1000);
}

TEST(Simulation, refuses_what_it_cannot_play) {
  const Experiment good{{{1, 1, 1}, {1, 1, 1}}, {10, {6, 3}}, 10, Protocol::coordinated, 1};
  EXPECT_TRUE(simulate(good, {1, 1, 1}));
  const auto refused = [&](auto change) {
    Experiment bad = good;
    change(bad);
    return !simulate(bad, {1, 1, 1}) && simulate(bad, {1, 1, 1}).error().code == Code::invalid_argument;
  };
  EXPECT_TRUE(refused([](Experiment& one) { one.pattern.counts = {5, 3}; }));
  EXPECT_TRUE(refused([](Experiment& one) { one.pattern.counts = {1}; }));
  EXPECT_TRUE(refused([](Experiment& one) { one.pattern.work = 0; }));
  EXPECT_TRUE(refused([](Experiment& one) { one.work = -1; }));
  EXPECT_TRUE(refused([](Experiment& one) { one.helpers = 0; }));
  EXPECT_TRUE(refused([](Experiment& one) { one.levels[0].cost = 0; }));
  EXPECT_FALSE(simulate(good, {0, 1, 1}));
}

}  // namespace
}  // namespace cairn::model
