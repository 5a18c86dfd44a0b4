// [head] mode = auto: who works in the background is settled before the nodes are made, and said once.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "session/shared_setup.hpp"
#include "support/facts.hpp"
#include "support/job.hpp"
#include "support/steps.hpp"

namespace cairn::test {
namespace {

using Recovery = Config::Recovery::Mode;

constexpr const char* kAuto = "[head]\nmode = auto\n[levels]\nl1 = every 1\nl2 = every 1\nl3 = off\nl4 = off\n";

// How many ranks compute, and what the log says, in a job on two nodes of three processes.
struct Seen {
  std::uint32_t ranks = 0;
  std::string log;
};
Seen run(Job& job) {
  Seen seen;
  job.log_level = "info";
  testing::internal::CaptureStderr();
  job.run_well_and_die([&](JobSession& session) {
    Steps steps(session);
    steps.restore();
    steps.advance();
    session.wait(LevelId::partner);
    if (session.rank() == 0) seen.ranks = session.size();
  });
  seen.log = testing::internal::GetCapturedStderr();
  return seen;
}

// Whether the only line about heads is the one for this mode.
bool says_once(const Seen& seen, HeadMode mode) {
  const auto lines = lines_that_name(seen.log, {"snapshot()"});
  return lines.size() == 1 && lines[0] == "cairn: " + automatic_head_text(mode, 6, false);
}

TEST(AutoHead, is_a_thread_where_all_ranks_may_have_threads) {
  Job job({3, 3}, kAuto);
  const Seen seen = run(job);
  EXPECT_EQ(seen.ranks, 6U);
  EXPECT_TRUE(says_once(seen, HeadMode::thread)) << seen.log;
}

TEST(AutoHead, is_inline_where_one_rank_may_not_have_threads) {
  Job job({3, 3}, kAuto);
  job.threads_may_communicate = [](std::uint32_t world_rank) { return world_rank != 4; };
  const Seen seen = run(job);
  EXPECT_EQ(seen.ranks, 6U);
  EXPECT_TRUE(says_once(seen, HeadMode::inline_)) << seen.log;
}

TEST(AutoHead, is_a_rank_where_ckpt_run_has_started_heads) {
  Job job({3, 3}, kAuto);
  job.started = StartedNumbers{4, 2, 2};
  const Seen seen = run(job);
  EXPECT_EQ(seen.ranks, 4U);
  EXPECT_TRUE(says_once(seen, HeadMode::rank)) << seen.log;
  EXPECT_THAT(seen.log, Not(Names({"ckpt-run"})));
}

// A job that was started by mpirun goes on under ckpt-run, and the reverse.
TEST(AutoHead, may_be_another_one_in_the_next_life) {
  Job job({2, 2}, kAuto);
  EXPECT_EQ(run(job).ranks, 4U);
  job.reshape({3, 3});
  job.started = StartedNumbers{4, 2, 2};
  job.run_well_and_die([](JobSession& session) {
    Steps steps(session);
    EXPECT_EQ(steps.restore(), 1U);
    EXPECT_EQ(session.size(), 4);
  });
}

TEST(AutoHead, is_never_a_thread_in_a_job_that_repairs_itself) {
  EXPECT_EQ(automatic_head_mode(false, true, Recovery::spares), HeadMode::inline_);
  EXPECT_EQ(automatic_head_mode(false, true, Recovery::respawn), HeadMode::inline_);
  EXPECT_EQ(automatic_head_mode(true, true, Recovery::spares), HeadMode::rank);
}

TEST(AutoHead, of_a_session_on_a_part_of_the_ranks_does_not_offer_ckpt_run) {
  EXPECT_THAT(automatic_head_text(HeadMode::inline_, 4, true), Not(Names({"ckpt-run"})));
}

}  // namespace
}  // namespace cairn::test
