// A job that hangs in its own communication right after it was opened says what to look for.
#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/facts.hpp"
#include "support/job.hpp"
#include "support/steps.hpp"

namespace cairn::test {
namespace {

using testing::Not;

constexpr std::uint32_t kHead = 2;

// What a job logs whose ranks do `first`, and then nothing for two minutes of its head's clock.
std::string log_after(const std::function<void(JobSession&)>& first) {
  Job job({3}, "[levels]\nl1 = every 100\nl2 = off\nl3 = off\nl4 = off\n");
  job.log_level = "warning";
  std::atomic<int> begun = 0;
  std::atomic<int> looks = 0;
  job.clock = [&](std::uint32_t world_rank) {
    const bool later = begun == 2;
    if (later && world_rank == kHead) ++looks;
    return later ? std::chrono::minutes(2) : std::chrono::minutes(0);
  };
  testing::internal::CaptureStderr();
  job.run([&](JobSession& session) {
    first(session);
    ++begun;
    while (looks < 3) std::this_thread::yield();
  });
  return testing::internal::GetCapturedStderr();
}

TEST(Silence, of_all_ranks_for_a_minute_after_opening_is_told_once) {
  const std::string log = log_after([](JobSession&) {});
  EXPECT_THAT(lines_that_name(log, {"node 0"}),
              testing::ElementsAre(Names({"node 0", "restore", "MPI_COMM_WORLD", "session.comm()"})));
}

TEST(Silence, is_not_told_of_where_a_rank_has_made_a_call) {
  EXPECT_THAT(log_after([](JobSession& session) { session.snapshot(); }), Not(Names({"node 0"})));
  EXPECT_THAT(log_after([](JobSession& session) { session.restore(); }), Not(Names({"node 0"})));
}

}  // namespace
}  // namespace cairn::test
