#include "schedule/schedule.hpp"

#include <gtest/gtest.h>

namespace cairn {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::minutes;

const LevelSet kAllUsable = LevelSet::of_bits(0x1e);

LevelSet levels(std::initializer_list<LevelId> list) {
  LevelSet set;
  for (const auto level : list) set.add(level);
  return set;
}

Interval every(std::uint64_t calls) { return {Interval::Kind::calls, calls, {}}; }
Interval each(milliseconds time) { return {Interval::Kind::time, 0, time}; }

Config::Levels levels_at(Interval l1, Interval l2, Interval l3, Interval l4) {
  Config::Levels out;
  out.at[0] = l1;
  out.at[1] = l2;
  out.at[2] = l3;
  out.at[3] = l4;
  return out;
}

TEST(Schedule, counted_levels_are_due_at_multiples_of_their_number) {
  const Schedule schedule(levels_at(every(1), every(4), every(6), Interval{}), kAllUsable);
  for (std::uint64_t call = 1; call <= 24; ++call) {
    const auto due = schedule.due(call);
    EXPECT_TRUE(due.has(LevelId::local));
    EXPECT_EQ(due.has(LevelId::partner), call % 4 == 0);
    EXPECT_EQ(due.has(LevelId::erasure), call % 6 == 0);
    EXPECT_FALSE(due.has(LevelId::global));
  }
  EXPECT_FALSE(schedule.timed());
}

TEST(Schedule, a_higher_level_is_due_where_the_local_one_is_not) {
  const Schedule schedule(levels_at(every(3), every(4), Interval{}, Interval{}), kAllUsable);
  EXPECT_EQ(schedule.due(4), levels({LevelId::partner}));
  EXPECT_EQ(schedule.due(5), LevelSet());
  EXPECT_EQ(schedule.due(12), levels({LevelId::local, LevelId::partner}));
}

TEST(Schedule, nothing_is_due_at_or_before_its_first_call) {
  const Schedule schedule(levels_at(every(1), every(4), Interval{}, Interval{}), kAllUsable, 8);
  EXPECT_EQ(schedule.due(0), LevelSet());
  EXPECT_EQ(schedule.due(8), LevelSet());
  EXPECT_EQ(schedule.due(9), levels({LevelId::local}));
  EXPECT_EQ(schedule.due(12), levels({LevelId::local, LevelId::partner}));
}

TEST(Schedule, the_first_snapshot_also_goes_to_the_lowest_level_above_l1) {
  for (const Interval interval : {each(minutes(10)), Interval{Interval::Kind::automatic, 0, {}}}) {
    Schedule schedule(levels_at(every(2), Interval{}, interval, each(minutes(30))), kAllUsable);
    EXPECT_EQ(schedule.with_first(schedule.due(1)), LevelSet()) << "no snapshot is due";
    EXPECT_EQ(schedule.with_first(schedule.due(2)), levels({LevelId::local, LevelId::erasure}));
    EXPECT_EQ(schedule.with_first(schedule.due(4)), levels({LevelId::local}));
  }
}

TEST(Schedule, the_first_snapshot_goes_to_no_other_level_after_a_restore_or_if_calls_are_counted) {
  Schedule resumed(levels_at(every(1), each(minutes(10)), Interval{}, Interval{}), kAllUsable, 8);
  EXPECT_EQ(resumed.with_first(resumed.due(9)), levels({LevelId::local}));
  Schedule counted(levels_at(every(1), every(4), each(minutes(10)), each(minutes(30))), kAllUsable);
  EXPECT_EQ(counted.with_first(counted.due(1)), levels({LevelId::local}));
  Schedule unusable(levels_at(every(1), each(minutes(1)), Interval{}, Interval{}), levels({LevelId::local}));
  EXPECT_EQ(unusable.with_first(unusable.due(1)), levels({LevelId::local}));
}

TEST(Schedule, what_cannot_be_used_is_never_due) {
  Schedule schedule(levels_at(every(1), every(1), each(minutes(1)), each(minutes(2))),
                    levels({LevelId::local, LevelId::global}));
  EXPECT_EQ(schedule.due(1), levels({LevelId::local}));
  EXPECT_EQ(schedule.due_by_time(minutes(100)), levels({LevelId::global}));
  EXPECT_FALSE(Schedule(levels_at(every(1), every(1), Interval{}, each(minutes(1))), levels({LevelId::local})).timed());
}

TEST(Schedule, timed_levels_are_due_once_their_time_has_come) {
  Schedule schedule(levels_at(every(1), Interval{}, each(minutes(10)), each(minutes(30))), kAllUsable);
  EXPECT_TRUE(schedule.timed());
  EXPECT_EQ(schedule.due_by_time(minutes(10) - milliseconds(1)), LevelSet());
  EXPECT_EQ(schedule.due_by_time(minutes(10)), levels({LevelId::erasure}));
  EXPECT_EQ(schedule.due_by_time(minutes(10)), LevelSet());
  EXPECT_EQ(schedule.due_by_time(minutes(31)), levels({LevelId::erasure, LevelId::global}));
  EXPECT_EQ(schedule.due(1), levels({LevelId::local})) << "levels in time are not due by calls";
}

TEST(Schedule, a_late_level_is_due_once_and_keeps_its_beat) {
  Schedule schedule(levels_at(Interval{}, Interval{}, Interval{}, each(minutes(10))), kAllUsable, 0, minutes(5));
  EXPECT_EQ(schedule.due_by_time(minutes(14)), LevelSet());
  EXPECT_EQ(schedule.due_by_time(minutes(47)), levels({LevelId::global}));
  EXPECT_EQ(schedule.due_by_time(minutes(54)), LevelSet());
  EXPECT_EQ(schedule.due_by_time(minutes(55)), levels({LevelId::global}));
}

TEST(PulsePeriod, aims_at_a_reduction_each_tenth_of_a_second) {
  EXPECT_EQ(PulsePeriod::next_period(10, milliseconds(100), 10), 10U);
  EXPECT_EQ(PulsePeriod::next_period(10, milliseconds(80), 10), 12U);
  EXPECT_EQ(PulsePeriod::next_period(10, milliseconds(160), 10), 6U);
}

TEST(PulsePeriod, at_most_doubles_and_stays_in_its_bounds) {
  EXPECT_EQ(PulsePeriod::next_period(10, milliseconds(1), 10), 20U);
  EXPECT_EQ(PulsePeriod::next_period(1, minutes(1), 1), 1U);
  EXPECT_EQ(PulsePeriod::next_period(64, milliseconds(1), 64), 64U);
  EXPECT_EQ(PulsePeriod::next_period(7, milliseconds(0), 7), 14U);
  EXPECT_EQ(PulsePeriod::next_period(0, milliseconds(50), 7), 7U);
  EXPECT_EQ(PulsePeriod::next_period(~std::uint64_t{0}, milliseconds(1), 60), 64U);
}

TEST(PulsePeriod, is_short_where_a_message_log_fills_soon) {
  EXPECT_EQ(PulsePeriod::most_for_log(10, 0), 64U);
  EXPECT_EQ(PulsePeriod::most_for_log(10, 10'000), 62U) << "a thousandth a call";
  EXPECT_EQ(PulsePeriod::most_for_log(10, 200'000), 3U) << "a fiftieth a call";
  EXPECT_EQ(PulsePeriod::most_for_log(1, 2'000'000), 1U) << "twice the log a call";
  EXPECT_EQ(PulsePeriod::most_for_log(~std::uint64_t{0}, 1), 64U);
}

// A stop signal that comes then waits for the next reduction.
TEST(PulsePeriod, is_never_long_when_steps_become_long_after_many_short_ones) {
  std::uint64_t period = 1;
  for (int turn = 0; turn < 30; ++turn) period = PulsePeriod::next_period(period, microseconds(1) * period, period);
  EXPECT_EQ(period, 64U) << "at 1 µs a call";
  EXPECT_EQ(PulsePeriod::next_period(period, minutes(1) * period, period), 1U) << "after one reduction at 1 min a call";
}

TEST(PulsePeriod, settles_wherever_it_starts) {
  for (const std::uint64_t start : {1U, 30U, 64U}) {
    auto period = start;
    for (int turn = 0; turn < 12; ++turn) period = PulsePeriod::next_period(period, milliseconds(2) * period, period);
    EXPECT_EQ(period, 50U) << "at 2 ms a call";
  }
}

}  // namespace
}  // namespace cairn
