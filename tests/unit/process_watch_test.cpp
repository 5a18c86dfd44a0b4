// What a head notices of the processes of its ranks.
#include "engine/process_watch.hpp"

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

}  // namespace
}  // namespace cairn::test
