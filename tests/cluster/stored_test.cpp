// What an application asks before it acts: stored(), how large a region is in the snapshot that restore() will bring,
// and due(), whether the next snapshot() takes one.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "format/shard.hpp"
#include "store/names.hpp"
#include "support/facts.hpp"
#include "support/job.hpp"
#include "support/steps.hpp"

namespace cairn::test {
namespace {

using testing::Each;

constexpr const char* kStoredSettings =
    "[levels]\nl1 = every 1\nl2 = every 1\nl3 = off\nl4 = off\n[restart]\nat_end = continue\n";

// Rank r has 100 + r numbers: an array that a C program would allocate before it protects it.
Job job_with_arrays() {
  Job job({2, 2, 2}, kStoredSettings);
  job.run_well_and_die([](JobSession& session) {
    std::vector<double> cells(100 + session.rank(), 7.0);
    session.protect("cells", cells.data(), cells.size());
    session.snapshot();
    session.wait(LevelId::partner);
  });
  return job;
}

void restore_by_size(Job& job) {
  job.run_well_and_die([](JobSession& session) {
    const auto size = session.stored("cells");
    EXPECT_EQ(size, 100U + session.rank());
    EXPECT_EQ(session.stored("cellars"), std::nullopt);
    std::vector<double> cells(size.value_or(0));
    session.protect("cells", cells.data(), cells.size());
    EXPECT_TRUE(session.restore().restored);
    EXPECT_THAT(cells, Each(7.0));
    session.snapshot();
    session.wait(LevelId::local);
  });
}

TEST(Stored, says_how_large_a_region_is_before_it_is_protected) {
  Job job = job_with_arrays();
  restore_by_size(job);
}

TEST(Stored, brings_home_what_is_lost_as_restore_does) {
  Job job = job_with_arrays();
  job.lose(1);
  restore_by_size(job);
}

TEST(Stored, is_nothing_on_a_fresh_start) {
  Job job({2, 2}, kStoredSettings);
  job.run_well_and_die([](JobSession& session) {
    EXPECT_EQ(session.stored("cells"), std::nullopt);
    Steps steps(session);
    EXPECT_EQ(steps.restore(), 0U);
    steps.advance();
  });
}

TEST(Stored, passes_over_a_snapshot_that_is_damaged) {
  Job job({2, 2}, "[levels]\nl1 = every 1\nl2 = off\nl3 = off\nl4 = off\n[restart]\nat_end = continue\n");
  job.run_well_and_die([](JobSession& session) {
    std::vector<double> cells(10);
    session.protect("cells", cells);
    for (const std::size_t size : {10, 20}) {
      cells.resize(size);
      session.snapshot();
      session.wait(LevelId::local);
    }
  });
  MemoryStore& store = job.node_store(0);
  const auto snapshots = store.list(DirName{}).value();
  const auto second =
      std::ranges::find_if(snapshots, [](const Entry& entry) { return entry.name.starts_with("v00000002"); });
  ASSERT_NE(second, snapshots.end());
  ASSERT_TRUE(store.corrupt(names::shard(DirName{second->name}, Rank{0}), kShardHeaderBytes + 100));
  job.run_well_and_die([](JobSession& session) {
    EXPECT_EQ(session.stored("cells"), 10U);
    std::vector<double> cells;
    session.protect("cells", cells);
    EXPECT_EQ(session.restore().version, 1U);
    EXPECT_EQ(cells.size(), 10U);
  });
}

TEST(Stored, is_refused_once_the_application_is_under_way) {
  Job job({2, 2}, kStoredSettings);
  job.run([](JobSession& session) {
    Steps steps(session);
    steps.restore();
    steps.advance();
    EXPECT_THAT(thrown_by([&] { (void)session.stored("state"); }),
                Fails(ErrorKind::usage, {"stored", "restore", "snapshot"}));
  });
}

// Half of the ranks ask, one of them more than once; all take the same snapshots.
TEST(Due, is_what_the_next_snapshot_does) {
  Job job({2, 2, 2}, "[levels]\nl1 = every 3\nl2 = every 6\nl3 = off\nl4 = off\n[restart]\nat_end = continue\n");
  job.run([](JobSession& session) {
    Steps steps(session);
    steps.restore();
    for (int call = 1; call <= 12; ++call) {
      std::optional<bool> due;
      if (session.rank() > 0) due = session.due();
      if (session.rank() == 2) {
        EXPECT_EQ(session.due(), due);
      }
      const auto version = steps.advance();
      EXPECT_EQ(version.has_value(), call % 3 == 0);
      EXPECT_EQ(due.value_or(version.has_value()), version.has_value());
    }
    EXPECT_EQ(session.last_restore().restored, false);
  });
}

TEST(Due, keeps_to_levels_in_time_that_all_ranks_agree_on) {
  Job job({2, 2}, "[levels]\nl1 = 10s\nl2 = off\nl3 = off\nl4 = off\n[restart]\nat_end = continue\n");
  std::atomic<std::uint32_t> calls{0};
  job.clock = [&](std::uint32_t) { return std::chrono::seconds(calls.load()); };
  std::atomic<std::uint32_t> taken{0};
  job.run([&](JobSession& session) {
    Steps steps(session);
    steps.restore();
    for (int call = 0; call < 60; ++call) {
      ++calls;
      const bool due = session.due();
      EXPECT_EQ(steps.advance().has_value(), due);
      if (due) ++taken;
    }
  });
  EXPECT_GE(taken, 4U);
  EXPECT_EQ(taken % 2, 0U);
}

TEST(Due, is_void_after_a_restore) {
  Job job({2, 2}, "[levels]\nl1 = every 2\nl2 = off\nl3 = off\nl4 = off\n[restart]\nat_end = continue\n");
  job.run_well_and_die([](JobSession& session) {
    Steps steps(session);
    steps.restore();
    steps.advance_by(2);
    session.wait(LevelId::local);
    EXPECT_FALSE(session.due());
    EXPECT_EQ(steps.restore(), 2U);
    EXPECT_FALSE(steps.advance());
    EXPECT_TRUE(session.due());
    EXPECT_TRUE(steps.advance());
  });
}

// Also where only a part is restored, and the job goes on from where it was.
TEST(Due, of_some_ranks_before_a_region_is_restored_does_not_make_their_calls_uneven) {
  Job job({2, 2}, "[levels]\nl1 = every 2\nl2 = off\nl3 = off\nl4 = off\n[restart]\nat_end = continue\n");
  job.run([](JobSession& session) {
    Steps steps(session);
    steps.restore();
    steps.advance_by(2);
    session.wait(LevelId::local);
    if (session.rank() == 1) {
      EXPECT_FALSE(session.due());
    }
    EXPECT_TRUE(session.restore("step").restored);
    EXPECT_FALSE(steps.advance());
    EXPECT_TRUE(steps.advance());
  });
}

// Ranks may end with a different number of questions: they have made the same calls.
TEST(Due, of_some_ranks_before_finalize_does_not_make_their_calls_uneven) {
  Job job({2, 2, 2}, "[levels]\nl1 = every 1\nl2 = off\nl3 = off\nl4 = off\n[restart]\nat_end = continue\n");
  job.run([](JobSession& session) {
    Steps steps(session);
    steps.restore();
    steps.advance_by(2);
    if (session.rank() == 1) {
      EXPECT_TRUE(session.due());
    }
  });
  job.run_well_and_die([](JobSession& session) {
    Steps steps(session);
    EXPECT_EQ(steps.restore(), 2U);
  });
}

// A rank that has asked and leaves has not made that call.
TEST(Due, of_a_rank_that_leaves_does_not_count) {
  Job job({2, 2}, "[levels]\nl1 = every 1\nl2 = off\nl3 = off\nl4 = off\n[restart]\nat_end = continue\n");
  job.run_and_die([](JobSession& session) {
    Steps steps(session);
    steps.restore();
    steps.advance();
    session.wait(LevelId::local);
    if (session.rank() == 1) {
      EXPECT_TRUE(session.due());
      const JobSession gone(std::move(session));
      return;
    }
    for (int i = 0; i < 3; ++i) (void)thrown_by([&] { steps.advance(); });
    EXPECT_THAT(thrown_by([&] { steps.advance(); }), Fails(ErrorKind::communication, {"rank 1"}));
  });
}

}  // namespace
}  // namespace cairn::test
