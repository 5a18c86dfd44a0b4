// Ranks of a job on another number of ranks, whose messages are logged.
#include <cstdint>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "elastic_job.hpp"
#include "session/session_impl.hpp"

namespace cairn::test {
namespace {

using testing::HasSubstr;

// A replacement would need the regions of others.
TEST(ElasticLog, lets_a_failure_roll_back_all_ranks_until_there_is_a_snapshot_of_their_number) {
  Job job({3, 3}, elastic_settings(""));
  take_grid_steps(job, 2);
  job.configure(elastic_settings("", "[recovery]\nmode = respawn\nrollback = lost\n"));
  job.can_be_repaired = true;
  for (const bool other_ranks : {false, true}) {
    SCOPED_TRACE(other_ranks);
    if (other_ranks) job.reshape({2, 3});
    job.run_well_and_die([&](JobSession& session) {
      Grid grid(session);
      EXPECT_EQ(grid.restore(), 2U);
      const auto obstacle = [&] { return session.impl().logged()->why_all_roll_back(); };
      if (!other_ranks) {
        EXPECT_FALSE(obstacle());
        return;
      }
      ASSERT_TRUE(obstacle());
      EXPECT_THAT(obstacle()->text, HasSubstr("exchanged regions"));
      const auto version = grid.advance();
      ASSERT_TRUE(version);
      while (session.safe_version(LevelId::local) < *version) {
      }
      grid.advance();
      EXPECT_FALSE(obstacle());
    });
  }
}

// Nothing refuses snapshot() before restore(), and no message is logged then.
TEST(LoggedJob, whose_ranks_never_restore_takes_snapshots) {
  Job job({3, 3}, elastic_settings("", "[recovery]\nmode = respawn\nrollback = lost\n"));
  job.can_be_repaired = true;
  job.run_well_and_die([](JobSession& session) {
    std::uint64_t step = 0;
    session.protect("step", step);
    for (; step < 4; ++step) EXPECT_TRUE(session.snapshot(LevelId::local)) << step;
  });
}

}  // namespace
}  // namespace cairn::test
