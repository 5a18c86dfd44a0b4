#include "schedule/auto_levels.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/facts.hpp"

namespace cairn {
namespace {

using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;
using test::Names;

const LevelSet kAllUsable = LevelSet::of_bits(0x1e);

Config all_auto() {
  Config config;
  for (Interval& interval : config.levels.at) interval = {Interval::Kind::automatic, 0, {}};
  return config;
}

RankCosts measures_of(std::array<microseconds, kLevels> cost) { return {seconds(0), cost, {}}; }

const RankCosts kCosts = measures_of({milliseconds(100), milliseconds(400), milliseconds(800), seconds(3)});

// A life that failed, and what the job had seen by then.
JobCosts failed_life(std::array<std::uint64_t, kLevels> failures, double observed) {
  JobCosts measured;
  measured.life = {9};
  measured.observed = observed;
  for (std::size_t i = 0; i < failures.size(); ++i) measured.levels[i].failures = failures[i];
  return measured;
}

std::unique_ptr<AutoLevels> next_life(const std::optional<JobCosts>& before) {
  return AutoLevels::make(all_auto(), kAllUsable, Incarnation{10}, 4, before);
}

TEST(MovingAverage, forgets_the_first_value_which_cold_memory_made) {
  MovingAverage average;
  EXPECT_EQ(average.value(), seconds(0));
  average.add(seconds(40));
  EXPECT_EQ(average.value(), seconds(40)) << "nothing better is known";
  average.add(seconds(4));
  EXPECT_EQ(average.value(), seconds(4));
  average.add(seconds(8));
  EXPECT_EQ(average.value(), seconds(6));
  for (int i = 0; i < 50; ++i) average.add(seconds(20));
  EXPECT_NEAR(static_cast<double>(average.value().count()), 20e6, 1e5);
}

TEST(MovingAverage, goes_on_from_an_earlier_life) {
  MovingAverage average{seconds(4)};
  EXPECT_EQ(average.value(), seconds(4));
  average.add(seconds(40));
  EXPECT_EQ(average.value(), seconds(4)) << "cold";
  average.add(seconds(8));
  EXPECT_EQ(average.value(), milliseconds(4500));
}

TEST(CostMeter, tells_what_stops_the_application_from_what_the_head_does_inside) {
  CostMeter meter{JobCosts{}};
  for (int i = 0; i < 3; ++i) meter.snapshot_took(seconds(10), seconds(7));
  for (int i = 0; i < 3; ++i) meter.promotion_took(LevelId::partner, seconds(7));
  EXPECT_EQ(meter.costs().cost[0], seconds(3));
  EXPECT_EQ(meter.costs().cost[1], seconds(7));
  EXPECT_EQ(meter.costs().cost[2], seconds(0)) << "not known";
  EXPECT_EQ(meter.costs().stopped, seconds(30));
  meter.restore_took(LevelId::erasure, seconds(12));
  EXPECT_EQ(meter.costs().recovery[2], seconds(12));
  EXPECT_EQ(meter.costs().stopped, seconds(0));
}

TEST(CostMeter, what_takes_no_time_is_known_all_the_same) {
  CostMeter meter{JobCosts{}};
  meter.snapshot_took(seconds(0), seconds(0));
  EXPECT_GT(meter.costs().cost[0], seconds(0));
}

TEST(AutoLevels, is_there_only_where_a_level_that_can_be_used_is_auto) {
  EXPECT_EQ(AutoLevels::make(Config{}, kAllUsable, Incarnation{1}, 4, {}), nullptr);
  Config config;
  config.levels.at[2] = {Interval::Kind::automatic, 0, {}};
  EXPECT_NE(AutoLevels::make(config, kAllUsable, Incarnation{1}, 4, {}), nullptr);
  EXPECT_EQ(AutoLevels::make(config, LevelSet::of_bits(0x16), Incarnation{1}, 4, {}), nullptr);
}

// A tenth of the log is filled in each second of work, and a quarter of all time is spent in snapshots.
TEST(AutoLevels, learns_how_fast_message_logs_fill) {
  const auto levels = next_life({});
  (void)levels->due({seconds(0), false, kCosts});
  LevelSet due;
  for (int second = 1; second <= 40; ++second) {
    RankCosts costs = kCosts;
    costs.stopped = milliseconds(250) * second;
    const LevelSet now = levels->due(
        {.elapsed = seconds(second), .stop = false, .costs = costs, .logged = std::uint64_t{75'000} * second});
    if (second > 1 && !now.empty()) due.add(LevelId::local);
  }
  EXPECT_TRUE(due.has(LevelId::local)) << "without logs, the first one is due after 93 s";
  EXPECT_THAT(*levels->take_news(), Names({"10 s"}));
}

TEST(AutoLevels, cuts_logs_at_the_lowest_level_that_survives_what_they_are_for) {
  Config config;
  EXPECT_EQ(level_that_cuts_logs(config, kAllUsable), LevelId::local);
  config.replay.survives = Config::Replay::Survives::node;
  EXPECT_EQ(level_that_cuts_logs(config, kAllUsable), LevelId::partner);
  EXPECT_EQ(level_that_cuts_logs(config, LevelSet::of_bits(0x12)), LevelId::global);
  EXPECT_EQ(level_that_cuts_logs(config, LevelSet::of_bits(0x02)), LevelId::local);
}

TEST(AutoLevels, assumes_a_level_that_was_not_measured_to_be_dearer_than_the_one_below) {
  auto levels = next_life({});
  const RankCosts first = measures_of({milliseconds(100), {}, {}, {}});
  (void)levels->due({seconds(0), false, first});
  EXPECT_FALSE(levels->take_news()) << "the others are coming in";
  (void)levels->due({seconds(60), false, first});
  const auto news = levels->take_news();
  ASSERT_TRUE(news);
  EXPECT_THAT(*news, Names({"100 ms", "400 ms", "1.6 s", "6.4 s"}));
  EXPECT_FALSE(levels->take_news()) << "told once";
  RankCosts other = first;
  other.cost[0] = seconds(1);
  (void)levels->due({seconds(70), false, other});
  EXPECT_FALSE(levels->take_news()) << "at most one line a minute";
  (void)levels->due({seconds(121), false, other});
  EXPECT_TRUE(levels->take_news());
}

TEST(AutoLevels, counts_a_life_that_did_not_end_as_a_failure_of_the_level_that_its_restore_needed) {
  auto after_failure = next_life(failed_life({1, 0, 0, 0}, 500));
  after_failure->restored(LevelId::erasure, seconds(3));
  after_failure->restored(LevelId::local, seconds(3));  // going back without having failed
  EXPECT_EQ(after_failure->record().levels[2].failures, 1U);
  EXPECT_EQ(after_failure->record().levels[0].failures, 1U);

  JobCosts ended = failed_life({1, 0, 0, 0}, 500);
  ended.ended = true;
  auto after_end = next_life(ended);
  after_end->restored(LevelId::erasure, seconds(3));
  EXPECT_EQ(after_end->record().levels[2].failures, 0U);

  auto anew = next_life(failed_life({1, 0, 0, 0}, 500));
  anew->restored({}, seconds(3));
  anew->restored(LevelId::local, seconds(3));
  EXPECT_EQ(anew->record().levels[0].failures, 1U);
}

TEST(AutoLevels, expects_failures_by_the_number_of_nodes_if_it_knows_for_how_many_the_configured_times_hold) {
  Config config = all_auto();
  const auto mtbf_on = [&](std::uint32_t nodes) {
    return AutoLevels::make(config, kAllUsable, Incarnation{1}, nodes, {})->record().levels[0].mtbf;
  };
  EXPECT_EQ(mtbf_on(100), 12 * 3600);
  config.failures.nodes = 100;
  EXPECT_EQ(mtbf_on(100), 12 * 3600);
  EXPECT_EQ(mtbf_on(200), 6 * 3600);
  EXPECT_EQ(mtbf_on(3), 12 * 3600 * 100.0 / 3);
}

TEST(AutoLevels, goes_by_its_own_history_from_five_failures_on_for_the_levels_that_had_some) {
  auto few = next_life(failed_life({3, 0, 0, 0}, 50000));
  few->restored(LevelId::local, seconds(3));
  EXPECT_EQ(few->record().levels[0].mtbf, 12 * 3600) << "four, and [failures] mtbf";

  auto enough = next_life(failed_life({3, 0, 1, 0}, 50000));
  enough->restored(LevelId::local, seconds(3));
  EXPECT_EQ(enough->record().levels[0].mtbf, 50000.0 / 4);
  EXPECT_EQ(enough->record().levels[1].mtbf, 3 * 86400);
  EXPECT_EQ(enough->record().levels[2].mtbf, 50000);
  // Time that passes without a failure counts too.
  (void)enough->due({seconds(30000), false, kCosts});
  EXPECT_EQ(enough->record().levels[0].mtbf, 80000.0 / 4);
  EXPECT_EQ(enough->record().observed, 80000);
}

TEST(AutoLevels, takes_snapshots_less_often_as_time_without_failures_passes) {
  auto levels = next_life(failed_life({5, 0, 0, 0}, 100));
  levels->restored(LevelId::local, seconds(3));
  (void)levels->due({seconds(1), false, kCosts});
  EXPECT_THAT(levels->take_news().value_or(""), Names({"16.8 s"}));
  double told = 0;
  for (int second = 2; second < 500; ++second) {
    (void)levels->due({seconds(second), false, kCosts});
    if (levels->take_news()) told = levels->record().levels[0].mtbf;
  }
  EXPECT_GE(told, 70);
  EXPECT_LT(told, 100);
}

TEST(AutoLevels, works_by_the_time_outside_of_snapshots) {
  Config config;
  for (Interval& interval : config.levels.at) interval = {};
  config.levels.at[0].kind = Interval::Kind::automatic;
  auto levels = AutoLevels::make(config, kAllUsable, Incarnation{1}, 4, {});
  RankCosts costs = kCosts;
  (void)levels->due({seconds(0), false, costs});
  EXPECT_FALSE(levels->due({seconds(93), false, costs}).empty()) << "sqrt(2 x 0.1 s x 12 h)";
  costs.stopped = seconds(1000);
  EXPECT_TRUE(levels->due({seconds(1100), false, costs}).empty());
  EXPECT_FALSE(levels->due({seconds(1187), false, costs}).empty());
}

TEST(AutoLevels, records_early_and_then_seldom) {
  auto levels = next_life({});
  int records = 0;
  for (int second = 0; second < 100000; second += 2) {
    (void)levels->due({seconds(second), false, kCosts});
    if (const auto record = levels->take_record()) {
      ++records;
      EXPECT_EQ(record->life, Incarnation{10});
      EXPECT_FALSE(record->ended);
      EXPECT_EQ(record->levels[3].cost, 3);
    }
    if (second == 0) {
      EXPECT_EQ(records, 1);
    }
  }
  EXPECT_GT(records, 150);
  EXPECT_LT(records, 200);
}

TEST(AutoLevels, a_life_without_snapshots_forgets_nothing) {
  auto levels = next_life({});
  (void)levels->due({seconds(1000), false, kCosts});
  auto next = next_life(levels->record());
  EXPECT_EQ(next->record().levels, levels->record().levels);
}

TEST(AutoLevels, a_next_life_starts_with_what_the_last_one_knew) {
  auto levels = next_life({});
  (void)levels->due({seconds(1000), false, kCosts});
  auto next = next_life(levels->record());
  EXPECT_EQ(next->meter().costs().cost, kCosts.cost);
  EXPECT_TRUE(next->due({seconds(1), false, next->meter().costs()}).empty()) << "nothing is left to be measured";
  EXPECT_EQ(next->record().observed, 1001);
}

}  // namespace
}  // namespace cairn
