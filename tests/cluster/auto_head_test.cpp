// [head] mode = auto: who works in the background is settled before the nodes are made, and said once.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "session/shared_setup.hpp"
#include "support/job.hpp"
#include "support/steps.hpp"

namespace cairn::test {
namespace {

using ::testing::HasSubstr;
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

std::size_t times(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(AutoHead, is_a_thread_where_all_ranks_may_have_threads) {
  Job job({3, 3}, kAuto);
  const Seen seen = run(job);
  EXPECT_EQ(seen.ranks, 6U);
  EXPECT_EQ(times(seen.log, "a thread of each node is its head"), 1U) << seen.log;
  EXPECT_THAT(seen.log, HasSubstr("\"ckpt-run -n 6\" gives each node a head of its own"));
}

TEST(AutoHead, is_inline_where_one_rank_may_not_have_threads) {
  Job job({3, 3}, kAuto);
  job.threads_may_communicate = [](std::uint32_t world_rank) { return world_rank != 4; };
  const Seen seen = run(job);
  EXPECT_EQ(seen.ranks, 6U);
  EXPECT_EQ(times(seen.log, "snapshot() waits until every level that is due is written"), 1U) << seen.log;
}

TEST(AutoHead, is_a_rank_where_ckpt_run_has_started_heads) {
  Job job({3, 3}, kAuto);
  job.started = StartedNumbers{4, 2, 2};
  const Seen seen = run(job);
  EXPECT_EQ(seen.ranks, 4U);
  EXPECT_EQ(times(seen.log, "each node has a head"), 1U) << seen.log;
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
  EXPECT_THAT(automatic_head_text(HeadMode::inline_, 4, true), Not(HasSubstr("ckpt-run")));
}

}  // namespace
}  // namespace cairn::test
