// A job from start to end on simulated nodes: what an application sees.
#include <gtest/gtest.h>

#include "support/job.hpp"

namespace cairn::test {
namespace {

constexpr const char* kAllLevels = R"([levels]
l1 = every 1
l2 = every 2
l3 = every 4
l4 = every 8
[erasure]
group = 4
parity = 2
[restart]
at_end = continue
)";

// Takes `count` snapshots of changing state, after restoring what there is. Returns what it went on from.
std::uint32_t compute(JobSession& session, std::uint32_t count) {
  std::vector<double> state;
  std::uint32_t step = 0;
  session.protect("state", state);
  session.protect("step", step);
  const auto report = session.restore();
  if (report.restored) {
    EXPECT_EQ(state, sample_state(session.rank(), step)) << "rank " << session.rank();
  }
  const std::uint32_t found = step;
  for (std::uint32_t i = 0; i < count; ++i) {
    state = sample_state(session.rank(), ++step);
    session.snapshot();
  }
  for (const LevelId level : {LevelId::local, LevelId::partner, LevelId::erasure, LevelId::global}) session.wait(level);
  return found;
}

TEST(Job, goes_on_from_its_newest_snapshot) {
  Job job({3, 3, 3, 3}, kAllLevels);
  job.run([](JobSession& session) { EXPECT_EQ(compute(session, 5), 0U); });
  job.run([](JobSession& session) { EXPECT_EQ(compute(session, 3), 5U); });
  job.run([](JobSession& session) { EXPECT_EQ(compute(session, 1), 8U); });
}

TEST(Job, goes_on_after_the_loss_of_any_two_nodes_of_four) {
  for (std::uint32_t first = 0; first < 4; ++first) {
    for (std::uint32_t second = first; second < 4; ++second) {
      Job job({3, 3, 3, 3}, kAllLevels);
      job.run_and_die([](JobSession& session) { EXPECT_EQ(compute(session, 4), 0U); });
      ASSERT_TRUE(job.errors().empty()) << job.errors().begin()->second;
      job.lose(first);
      job.lose(second);
      job.run([](JobSession& session) { EXPECT_EQ(compute(session, 1), 4U); });
    }
  }
}

}  // namespace
}  // namespace cairn::test
