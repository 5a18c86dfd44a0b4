// Levels in time: all ranks decide alike, whatever their clocks show.
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "support/facts.hpp"
#include "support/job.hpp"
#include "support/steps.hpp"

namespace cairn::test {
namespace {

using namespace std::chrono_literals;

// Call number → version, by rank.
using Taken = std::map<std::uint32_t, std::map<std::uint32_t, std::uint32_t>>;

// A job whose clocks show different times and go on with every call of snapshot(), at `per_call`.
class TimedJob {
 public:
  TimedJob(const std::string& settings, std::chrono::milliseconds per_call)
      : job_({2, 2, 2}, settings), per_call_(per_call) {
    job_.clock = [this](std::uint32_t world_rank) {
      return std::chrono::hours(world_rank) + per_call_ * calls_.at(world_rank).load();
    };
  }

  void run(std::uint32_t calls, const std::function<void(JobSession&)>& after = {}) {
    for (auto& counted : calls_) counted = 0;
    taken.clear();
    job_.run([&](JobSession& session) {
      Steps steps(session, 100);
      steps.restore();
      for (std::uint32_t call = 1; call <= calls; ++call) {
        ++calls_.at(session.rank() * 2);  // its world rank: each second one is a head
        const auto version = steps.advance();
        const std::scoped_lock lock(mutex_);
        if (version) taken[session.rank()][call] = *version;
      }
      if (after) after(session);
    });
  }

  Taken taken;

 private:
  Job job_;
  std::chrono::milliseconds per_call_;
  std::array<std::atomic<std::uint32_t>, 6> calls_{};
  std::mutex mutex_;
};

TEST(TimedSchedule, takes_the_same_snapshots_on_all_ranks_at_the_pace_that_was_set) {
  TimedJob job("[levels]\nl1 = 10s\nl2 = off\nl3 = off\nl4 = off\n[restart]\nat_end = continue\n", 1s);
  job.run(100);
  ASSERT_EQ(job.taken.size(), 3U);
  EXPECT_EQ(job.taken[0], job.taken[1]);
  EXPECT_EQ(job.taken[0], job.taken[2]);
  // 100 s at one in 10 s; agreement comes up to two calls late.
  ASSERT_EQ(job.taken[0].size(), 9U);
  std::uint32_t version = 0;
  for (const auto& [call, taken] : job.taken[0]) {
    ++version;
    EXPECT_EQ(taken, version);
    EXPECT_GE(call, 10 * version);
    EXPECT_LE(call, 10 * version + 3);
  }
}

TEST(TimedSchedule, raises_a_snapshot_to_the_level_whose_time_has_come) {
  TimedJob job("[levels]\nl1 = every 1\nl2 = 20s\nl3 = off\nl4 = off\n[restart]\nat_end = continue\n", 1s);
  job.run(30, [](JobSession& session) {
    session.wait(LevelId::partner);
    const std::uint32_t version = session.safe_version(LevelId::partner);
    EXPECT_GE(version, 20U);
    EXPECT_LE(version, 23U);
    session.wait(LevelId::local);
    EXPECT_EQ(session.safe_version(LevelId::local), 30U);
  });
}

TEST(TimedSchedule, asks_seldom_when_calls_are_quick) {
  // 1 ms a call: about one reduction in a hundred calls, so a snapshot may come up to 200 calls late.
  TimedJob job("[levels]\nl1 = 1s\nl2 = off\nl3 = off\nl4 = off\n[restart]\nat_end = continue\n", 1ms);
  job.run(2500);
  EXPECT_EQ(job.taken[0], job.taken[1]);
  EXPECT_EQ(job.taken[0], job.taken[2]);
  ASSERT_EQ(job.taken[0].size(), 2U);
  EXPECT_GE(job.taken[0].begin()->first, 1000U);
  EXPECT_LE(job.taken[0].begin()->first, 1250U);
}

TEST(TimedSchedule, counts_anew_from_a_restore) {
  TimedJob job("[levels]\nl1 = 10s\nl2 = off\nl3 = off\nl4 = off\n[restart]\nat_end = continue\n", 1s);
  job.run(15);
  ASSERT_EQ(job.taken[0].size(), 1U);
  job.run(15);
  EXPECT_EQ(job.taken[0], job.taken[2]);
  ASSERT_EQ(job.taken[0].size(), 1U);
  EXPECT_GE(job.taken[0].begin()->first, 10U);
  EXPECT_EQ(job.taken[0].begin()->second, 2U);
}

TEST(CountedSchedule, goes_on_counting_where_the_chain_was) {
  Job job({2, 2}, "[levels]\nl1 = every 3\nl2 = off\nl3 = off\nl4 = off\n[restart]\nat_end = continue\n");
  const auto count = [&](std::uint32_t calls, std::vector<std::uint32_t> due) {
    job.run([&](JobSession& session) {
      Steps steps(session, 100);
      steps.restore();
      std::vector<std::uint32_t> taken;
      for (std::uint32_t i = 0; i < calls; ++i) {
        if (steps.advance()) taken.push_back(steps.step());
      }
      EXPECT_EQ(taken, due);
    });
  };
  count(7, {3, 6});
  count(7, {9, 12});  // from step 6 on
}

TEST(ForcedSnapshot, reaches_its_level_though_it_is_not_due) {
  Job job({2, 2, 2},
          "[levels]\nl1 = every 100\nl2 = every 100\nl3 = off\nl4 = every 100\n[restart]\nat_end = continue\n");
  job.run([](JobSession& session) {
    Steps steps(session);
    steps.restore();
    EXPECT_FALSE(steps.advance());
    EXPECT_EQ(steps.advance_to(LevelId::partner), 1U);
    session.wait(LevelId::partner);
    EXPECT_EQ(session.safe_version(LevelId::partner), 1U);
    EXPECT_EQ(session.safe_version(LevelId::global), 0U);
    EXPECT_EQ(steps.advance_to(LevelId::global), 2U);
    session.wait(LevelId::global);
    EXPECT_EQ(session.safe_version(LevelId::global), 2U);
    EXPECT_THAT(thrown_by([&] { session.snapshot(LevelId::erasure); }), Fails(ErrorKind::usage, {"L3"}));
  });
}

}  // namespace
}  // namespace cairn::test
