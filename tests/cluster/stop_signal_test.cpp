// A batch system's warning. The signal is remembered by the process, so this executable has no other tests.
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <map>
#include <mutex>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/job.hpp"
#include "support/steps.hpp"

namespace cairn::test {
namespace {

TEST(StopSignal, stops_all_ranks_at_one_snapshot_which_goes_to_L4_and_the_chain_goes_on) {
  Job job({3, 3, 3}, "[levels]\nl1 = every 1\nl2 = off\nl3 = off\nl4 = every 1000\n[restart]\nat_end = finished\n");
  // A second a call, so that the ranks agree about every other call.
  std::map<std::uint32_t, std::uint32_t> stopped_at;
  std::mutex mutex;
  std::array<std::atomic<std::uint32_t>, 9> calls{};
  job.clock = [&](std::uint32_t world_rank) { return std::chrono::seconds(calls.at(world_rank).load()); };
  job.run([&](JobSession& session) {
    Steps steps(session);
    steps.restore();
    while (!session.should_stop() && steps.step() < 100) {
      if (session.rank() == 2 && steps.step() == 5) std::raise(SIGUSR1);
      ++calls.at(session.rank() / 2 * 3 + session.rank() % 2);  // its world rank
      steps.advance();
    }
    session.wait(LevelId::global);
    EXPECT_EQ(session.safe_version(LevelId::global), steps.step());
    const std::scoped_lock lock(mutex);
    stopped_at[session.rank()] = steps.step();
  });
  ASSERT_EQ(stopped_at.size(), 6U);
  for (const auto& [rank, step] : stopped_at) {
    EXPECT_EQ(step, stopped_at[0]) << "rank " << rank;
    EXPECT_LE(step, 9U) << "rank " << rank;
  }
  for (std::uint32_t node = 0; node < job.nodes(); ++node) job.lose(node);
  job.run([&](JobSession& session) { EXPECT_EQ(Steps(session).restore(), stopped_at[0]); });
}

}  // namespace
}  // namespace cairn::test
