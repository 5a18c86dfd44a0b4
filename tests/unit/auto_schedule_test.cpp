#include "schedule/auto_schedule.hpp"

#include <bit>
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/duration_text.hpp"

namespace cairn {
namespace {

using std::chrono::microseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;

const LevelSet kAllUsable = LevelSet::of_bits(0x1e);
constexpr Interval kAuto{Interval::Kind::automatic, 0, {}};
constexpr Interval kOff{};
constexpr Interval kEach{Interval::Kind::calls, 1, {}};
constexpr Interval kEvery10{Interval::Kind::calls, 10, {}};
constexpr double kHour = 3600;

Config::Levels levels_at(Interval l1, Interval l2, Interval l3, Interval l4) {
  Config::Levels out;
  out.at[0] = l1;
  out.at[1] = l2;
  out.at[2] = l3;
  out.at[3] = l4;
  return out;
}

const Config::Levels kAllAuto = levels_at(kAuto, kAuto, kAuto, kAuto);

ModelInputs figures() {
  return {{{1, 2, kHour, false}, {3, 7, 6 * kHour, false}, {12, 9, 48 * kHour, false}, {90, 95, 480 * kHour, false}}};
}

LevelSet levels(std::initializer_list<LevelId> list) {
  LevelSet set;
  for (const auto level : list) set.add(level);
  return set;
}

// When each level was due in `work` of seconds of one second each.
struct Played {
  std::uint64_t snapshots = 0;
  std::uint64_t at[kLevels] = {};
};
Played play(AutoSchedule& schedule, std::int64_t from, std::int64_t to, std::int64_t step = 1) {
  Played played;
  for (std::int64_t second = from; second < to; second += step) {
    const LevelSet due = schedule.due(seconds(second));
    if (!due.empty()) ++played.snapshots;
    for (const LevelId level : kAllLevels) played.at[static_cast<int>(level) - 1] += due.has(level) ? 1 : 0;
  }
  return played;
}

TEST(AutoModel, has_the_levels_that_are_auto_with_the_failures_that_nothing_below_answers) {
  const AutoModel all = auto_model(kAllAuto, kAllUsable, figures());
  EXPECT_THAT(all.ids, ElementsAre(LevelId::local, LevelId::partner, LevelId::erasure, LevelId::global));
  EXPECT_DOUBLE_EQ(all.levels[3].rate, 1 / (480 * kHour));
  EXPECT_EQ(all.levels[3].cost, 90);
  EXPECT_EQ(all.levels[3].recovery, 95);

  // L2 is off, so that L3 answers its failures; L1 has a rule of its own, and answers its own.
  const AutoModel some = auto_model(levels_at(kEach, kOff, kAuto, kAuto), kAllUsable, figures());
  EXPECT_THAT(some.ids, ElementsAre(LevelId::erasure, LevelId::global));
  EXPECT_DOUBLE_EQ(some.levels[0].rate, 1 / (6 * kHour) + 1 / (48 * kHour));

  // What the nodes cannot carry is as good as off.
  const AutoModel one = auto_model(kAllAuto, levels({LevelId::local, LevelId::global}), figures());
  EXPECT_THAT(one.ids, ElementsAre(LevelId::local, LevelId::global));
  EXPECT_DOUBLE_EQ(one.levels[1].rate, 1 / (6 * kHour) + 1 / (48 * kHour) + 1 / (480 * kHour));
}

TEST(AutoModel, charges_the_snapshot_itself_to_the_lowest_level_where_none_is_taken_anyway) {
  EXPECT_EQ(auto_model(levels_at(kEach, kAuto, kAuto, kOff), kAllUsable, figures()).levels[0].cost, 3);
  EXPECT_EQ(auto_model(levels_at(kEvery10, kAuto, kAuto, kOff), kAllUsable, figures()).levels[0].cost, 4);
  EXPECT_EQ(auto_model(levels_at(kOff, kAuto, kAuto, kOff), kAllUsable, figures()).levels[0].cost, 4);
  EXPECT_EQ(auto_model(levels_at(kOff, kAuto, kAuto, kOff), kAllUsable, figures()).levels[1].cost, 12);
}

TEST(AutoSchedule, takes_one_snapshot_at_all_its_levels_to_learn_what_they_cost) {
  AutoSchedule schedule(levels_at(kAuto, kAuto, kEvery10, kAuto), kAllUsable);
  EXPECT_EQ(schedule.due(seconds(0)), levels({LevelId::local, LevelId::partner, LevelId::global}));
  EXPECT_EQ(schedule.due(seconds(1)), levels({LevelId::local})) << "until its cost was agreed on";
  schedule.choose(figures());
  EXPECT_EQ(schedule.due(seconds(2)), LevelSet());
}

TEST(AutoSchedule, plays_the_optimal_pattern) {
  AutoSchedule schedule(kAllAuto, kAllUsable);
  schedule.choose(figures());
  const auto best = model::optimal_pattern(auto_model(kAllAuto, kAllUsable, figures()).levels).value();
  const std::int64_t work = std::llround(4 * best.work);
  const Played played = play(schedule, 0, work + 2);
  EXPECT_EQ(played.snapshots, 4 * best.snapshots());
  for (std::size_t i = 0; i < std::size_t{kLevels}; ++i) EXPECT_EQ(played.at[i], 4 * best.counts[i]) << i;
}

TEST(AutoSchedule, is_due_before_a_message_log_is_full) {
  AutoSchedule schedule(kAllAuto, kAllUsable);
  schedule.choose(figures());
  const double free = schedule.pattern()->interval();
  schedule.choose(figures(), LogBound{LevelId::local, free / 2});
  EXPECT_LE(schedule.pattern()->interval(), AutoSchedule::kLogShare * free / 2);
  EXPECT_THAT(schedule.text(), HasSubstr(duration_text(free / 2)));
  schedule.choose(figures(), LogBound{LevelId::local, 2 * free});
  EXPECT_EQ(schedule.pattern()->interval(), free);
  const double partner = free * static_cast<double>(schedule.pattern()->every(1));
  schedule.choose(figures(), LogBound{LevelId::partner, partner / 3});
  EXPECT_LE(schedule.pattern()->interval() * static_cast<double>(schedule.pattern()->every(1)), partner / 3);
  // A level with a rule of its own keeps it.
  AutoSchedule partly(levels_at(kEvery10, kAuto, kAuto, kAuto), kAllUsable);
  partly.choose(figures());
  const auto counts = partly.pattern()->counts;
  partly.choose(figures(), LogBound{LevelId::local, 1});
  EXPECT_EQ(partly.pattern()->counts, counts);
}

TEST(AutoSchedule, keeps_its_pace_though_calls_come_late) {
  AutoSchedule schedule(kAllAuto, kAllUsable);
  schedule.choose(figures());
  const double interval = schedule.pattern()->interval();
  const std::int64_t step = std::llround(interval * 0.7);
  EXPECT_NEAR(static_cast<double>(play(schedule, 0, 700 * step, step).snapshots), 490, 2);
  schedule.restart();
  EXPECT_EQ(play(schedule, 0, 700 * step, 3 * step).snapshots, 233U) << "at each call, where they are further apart";
}

TEST(AutoSchedule, counts_from_zero_after_a_restore) {
  AutoSchedule schedule(kAllAuto, kAllUsable);
  schedule.choose(figures());
  const auto interval = seconds(std::llround(schedule.pattern()->interval()));
  EXPECT_FALSE(schedule.due(10 * interval).empty());
  schedule.restart();
  EXPECT_TRUE(schedule.due(interval / 2).empty());
  EXPECT_FALSE(schedule.due(interval + seconds(1)).empty());
}

TEST(AutoSchedule, with_a_level_the_used_ones_below_it_are_due) {
  AutoSchedule schedule(kAllAuto, kAllUsable);
  schedule.choose(figures());
  const auto interval = microseconds(std::llround(schedule.pattern()->interval() * 1e6) + 1);
  ModelInputs other = figures();
  for (int i = 1; i < 300; ++i) {
    // The pattern changes all the time, so that its levels would come apart.
    other[1].cost = 2 + i % 4;
    other[3].cost = 50 + i % 50;
    schedule.choose(other);
    const LevelSet due = schedule.due(interval * 4 * i);
    bool above = false;
    for (std::size_t level = kLevels; level-- > 0;) {
      const bool here = due.has(kAllLevels[level]);
      if (above && schedule.pattern()->uses(level)) {
        EXPECT_TRUE(here) << i << " " << level;
      }
      above |= here;
    }
  }
}

TEST(AutoSchedule, hardly_asks_for_a_level_that_is_not_worth_it_and_never_for_one_that_is_not_its_own) {
  ModelInputs dear = figures();
  dear[2].cost = 89;  // hardly cheaper than L4, and seldom needed
  AutoSchedule schedule(levels_at(kAuto, kEvery10, kAuto, kAuto), kAllUsable);
  schedule.choose(dear);
  const Played played = play(schedule, 0, 500000, 10);
  EXPECT_GT(played.at[0], 0U);
  EXPECT_EQ(played.at[1], 0U);
  EXPECT_GT(played.at[3], 8U);
  EXPECT_EQ(played.at[2], static_cast<std::uint64_t>(std::bit_width(played.at[3]))) << "with the 1st, 2nd, 4th …";
  EXPECT_THAT(schedule.text(), HasSubstr("L3 never"));
}

TEST(AutoSchedule, says_what_it_chose_and_again_when_that_changes_by_more_than_a_fifth) {
  AutoSchedule schedule(kAllAuto, kAllUsable);
  EXPECT_FALSE(schedule.take_news());
  const auto news_of = [&](const ModelInputs& figures) {
    schedule.choose(figures);
    return schedule.take_news();
  };
  EXPECT_EQ(news_of(figures()),
            "a snapshot every 85.7 s, L2 every 4th, L3 every 24th, L4 every 216th (cost 1 s, 3 s, 12 s, 90 s; MTBF 60 "
            "min, 6 h, 2 d, 20 d)");
  ModelInputs other = figures();
  other[0].cost = 1.2;
  EXPECT_FALSE(news_of(other)) << "a tenth in the interval";
  other[0].cost = 1.6;
  EXPECT_TRUE(news_of(other)) << "more than a fifth since it was told";
  EXPECT_FALSE(news_of(other));
  other[2].assumed = true;
  other[3].mtbf = 5000 * kHour;
  EXPECT_THAT(news_of(other).value_or(""), HasSubstr("12 s assumed"));
}

}  // namespace
}  // namespace cairn
