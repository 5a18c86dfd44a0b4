// What a head notices of the processes of its ranks.
#include "engine/process_watch.hpp"

#include <array>
#include <sstream>

#include <gtest/gtest.h>

namespace cairn::test {
namespace {

using std::chrono::seconds;

class ProcessWatched : public testing::Test {
 protected:
  std::optional<ProcessWatch::Found> look() {
    now += seconds(1);
    watch.begin_look();
    return watch.look(Rank{4}, 4711, now);
  }
  std::optional<ProcessState> process = ProcessState{'R', 1, 99};
  std::optional<std::uint64_t> kills = 7;
  ProcessWatch watch{[this](std::int32_t /*number*/) { return process; }, [this] { return kills; }};
  std::chrono::microseconds now{};
};

TEST_F(ProcessWatched, is_well_while_it_runs) {
  for (int i = 0; i < 20; ++i) EXPECT_FALSE(look());
  EXPECT_TRUE(watch.probe(Rank{4}).alive);
  EXPECT_EQ(watch.state(Rank{4})->started, 99U);
}

TEST_F(ProcessWatched, is_dead_once_it_has_ended_or_another_one_has_its_number) {
  for (const auto& end : {std::optional<ProcessState>(), std::optional(ProcessState{'Z', 1, 99}),
                          std::optional(ProcessState{'R', 1, 100})}) {
    watch.forget(Rank{4});
    process = ProcessState{'R', 1, 99};
    EXPECT_FALSE(look());
    process = end;
    const auto found = look();
    ASSERT_TRUE(found);
    EXPECT_EQ(found->kind, SymptomKind::process_failed);
    EXPECT_FALSE(watch.probe(Rank{4}).alive);
    EXPECT_TRUE(watch.state(Rank{4})->ended());
    EXPECT_FALSE(look()) << "it is told twice at once";
  }
}

TEST_F(ProcessWatched, is_told_again_after_a_while) {
  EXPECT_FALSE(look());
  process.reset();
  EXPECT_TRUE(look());
  now += seconds(10);
  EXPECT_TRUE(look());
}

TEST_F(ProcessWatched, is_stopped_once_it_has_been_so_for_two_seconds) {
  EXPECT_FALSE(look());
  process->state = 'T';
  EXPECT_FALSE(look());
  EXPECT_FALSE(look());
  const auto found = look();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->kind, SymptomKind::process_stopped);
  EXPECT_EQ(found->measure, 2);
  EXPECT_TRUE(watch.probe(Rank{4}).stopped);
  process->state = 'S';
  EXPECT_FALSE(look());
  EXPECT_FALSE(watch.probe(Rank{4}).stopped);
}

TEST_F(ProcessWatched, of_another_container_is_never_dead) {
  process.reset();
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(look());
  EXPECT_TRUE(watch.probe(Rank{4}).alive);
  EXPECT_FALSE(watch.state(Rank{4}));
}

// Whatever the kernel has killed before, or does later, is not about this process.
TEST_F(ProcessWatched, is_dead_with_what_the_kernel_killed_for_memory_since_the_last_look) {
  EXPECT_FALSE(look());
  kills = 9;
  EXPECT_FALSE(look());
  kills = 11;
  process.reset();
  EXPECT_TRUE(look());
  kills = 20;
  EXPECT_FALSE(look());
  EXPECT_EQ(watch.probe(Rank{4}).oom_kills, 2U);
}

TEST_F(ProcessWatched, is_dead_for_an_unknown_reason_where_the_kernel_does_not_count) {
  kills.reset();
  EXPECT_FALSE(look());
  process.reset();
  EXPECT_TRUE(look());
  EXPECT_FALSE(watch.probe(Rank{4}).oom_kills);
}

TEST(OomKills, are_counted_in_vmstat) {
  std::istringstream text("nr_free_pages 812\noom_kill 3\nzone_reclaim 0\n");
  EXPECT_EQ(oom_kills_in(text), 3U);
  std::istringstream old("nr_free_pages 812\n");
  EXPECT_FALSE(oom_kills_in(old));
}

// As cpulimit does it: stopped for half of the time, however the looks fall.
TEST_F(ProcessWatched, is_slow_and_not_stopped_if_it_is_continued_again_and_again) {
  std::optional<ProcessWatch::Found> slow;
  for (int i = 0; i < 40; ++i) {
    process->state = i % 4 < 3 ? 'T' : 'R';
    process->ticks += 50;
    EXPECT_FALSE(look());
    if (auto found = watch.look_at_pace(Rank{4}, now)) slow = found;
  }
  ASSERT_TRUE(slow);
  EXPECT_EQ(slow->kind, SymptomKind::slow_rank);
  EXPECT_NEAR(watch.pace(Rank{4})->held, 0.75, 0.01);
}

TEST_F(ProcessWatched, is_not_slow_if_it_is_stopped_for_good) {
  for (int i = 0; i < 40; ++i) {
    process->state = 'T';
    (void)look();
    EXPECT_FALSE(watch.look_at_pace(Rank{4}, now));
  }
  EXPECT_EQ(watch.pace(Rank{4})->held, 0);
  process->state = 'R';
  process->ticks += 50;
  (void)look();
  EXPECT_FALSE(watch.look_at_pace(Rank{4}, now)) << "it goes on after a long stop";
}

// Four ranks, of which each waits for a processor for so large a share of the time.
std::optional<ProcessWatch::Found> pace_of_first(const std::array<double, 4>& waits) {
  std::array<ProcessState, 4> processes;
  processes.fill({'R', 1, 99});
  ProcessWatch watch([&](std::int32_t number) { return std::optional(processes.at(number - 1)); },
                     [] { return std::optional<std::uint64_t>(0); });
  std::optional<ProcessWatch::Found> found;
  for (int i = 1; i <= 20; ++i) {
    for (std::uint32_t rank = 0; rank < waits.size(); ++rank) {
      processes.at(rank).waited += std::chrono::nanoseconds(static_cast<std::int64_t>(waits.at(rank) * 1e9));
      EXPECT_FALSE(watch.look(Rank{rank}, static_cast<std::int32_t>(rank) + 1, seconds(i)));
    }
    if (auto slow = watch.look_at_pace(Rank{0}, seconds(i))) found = slow;
  }
  return found;
}

TEST(ProcessPace, is_slow_where_one_rank_alone_waits_for_its_processor) {
  EXPECT_TRUE(pace_of_first({0.5, 0.01, 0.02, 0.01}));
  EXPECT_FALSE(pace_of_first({0.5, 0.5, 0.45, 0.55})) << "there are more ranks than processors";
  EXPECT_FALSE(pace_of_first({0.1, 0, 0, 0})) << "it hardly waits";
  EXPECT_FALSE(pace_of_first({0.01, 0.5, 0.02, 0.01})) << "another one waits";
}

}  // namespace
}  // namespace cairn::test
