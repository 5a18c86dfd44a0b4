// A job that comes back with another number of ranks, and crashes again at store operation or message 0, 1, 2 … of that
// run. Whatever was left then is restored by any number of ranks.
#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/facts.hpp"
#include "support/faulty_store.hpp"
#include "support/grid.hpp"
#include "support/job.hpp"

namespace cairn::test {
namespace {

constexpr std::uint32_t kOldStep = 2;

std::string settings() {
  return "[job]\non_storage_error = throw\n[levels]\nl1 = every 1\nl2 = every 1\nl3 = off\nl4 = every 2\n[restart]\n"
         "elastic = on\nat_end = continue\n";
}

struct Seen {
  std::atomic<std::uint32_t> safe{kOldStep};
  std::atomic<std::uint32_t> tried{kOldStep};
};

// A rank that meets an error takes the job with it.
void restore_and_go_on(JobSession& session, Seen& seen) {
  try {
    Grid grid(session);
    EXPECT_EQ(grid.restore(), kOldStep);
    seen.tried = kOldStep + 1;
    grid.advance();
    session.wait(LevelId::partner);
    seen.safe = kOldStep + 1;
    session.finalize();
  } catch (const Exception&) {
    session.kill_job();
    throw;
  }
}

class ElasticCrash : public testing::Test {
 protected:
  ElasticCrash() : job({3, 3, 3}, settings()) {
    job.log_level = "off";
    job.run_well_and_die([](JobSession& session) {
      Grid grid(session);
      grid.restore();
      for (std::uint32_t i = 0; i < kOldStep; ++i) grid.advance();
      grid.wait_for_all();
    });
    old = job.image();
  }

  // Six old ranks on three nodes, of which the second has lost its store; four ranks on these nodes now.
  void run(Seen& seen) {
    job.put_back(old);
    job.lose(1);
    job.reshape({3, 2, 2});
    job.run_and_die([&](JobSession& session) { restore_and_go_on(session, seen); });
  }

  // The next run, of the new number of ranks, the old one or another.
  void expect_whole(const Seen& seen, std::uint64_t n) {
    const std::vector<std::vector<std::uint32_t>> shapes{{3, 2, 2}, {3, 3, 3}, {2, 2, 2}};
    job.reshape(shapes[n % shapes.size()]);
    std::atomic<std::uint32_t> found{0};
    job.run_well_and_die([&](JobSession& session) {
      Grid grid(session);
      found = grid.restore();
      grid.advance();
      grid.wait_for_all();
    });
    EXPECT_GE(found, seen.safe);
    EXPECT_LE(found, seen.tried);
    for (std::uint32_t node = 0; node < job.nodes(); ++node) {
      for (const auto& [path, bytes] : image_of(job.node_store(node)))
        EXPECT_THAT(path, testing::Not(testing::StartsWith("brought"))) << "node " << node;
    }
  }

  Job job;
  Job::Image old;
};

TEST_F(ElasticCrash, at_any_store_operation_leaves_the_old_or_the_new_snapshot) {
  bool crashed = true;
  for (std::uint64_t n = 0; crashed && !HasFailure(); ++n) {
    SCOPED_TRACE(fmt::format("crash at operation {}", n));
    ASSERT_LT(n, 5000U) << "the sweep does not come to an end";
    const auto plan = std::make_shared<FaultPlan>();
    job.wrap_node = [plan](std::uint32_t, auto store) { return std::make_shared<FaultyStore>(store, plan); };
    job.wrap_global = [plan](auto store) { return std::make_shared<FaultyStore>(store, plan); };
    plan->crash_at(n);
    Seen seen;
    run(seen);
    crashed = plan->has_failed();
    plan->heal();
    expect_whole(seen, n);
  }
}

TEST_F(ElasticCrash, at_a_message_leaves_the_old_or_the_new_snapshot) {
  bool crashed = true;
  for (std::uint64_t n = 0; crashed && !HasFailure(); n += 7) {
    SCOPED_TRACE(fmt::format("crash at message operation {}", n));
    ASSERT_LT(n, 50000U) << "the sweep does not come to an end";
    job.message_faults = std::make_shared<CommFaultPlan>();
    job.message_faults->first_failing = n;
    Seen seen;
    run(seen);
    crashed = job.message_faults->failing;
    job.message_faults.reset();
    expect_whole(seen, n);
  }
}

// A store that fails for a while: the ranks are told, and another restore does it.
TEST_F(ElasticCrash, never_comes_of_an_operation_that_fails_once) {
  bool failed = true;
  for (std::uint64_t n = 0; failed && !HasFailure(); n += 3) {
    SCOPED_TRACE(fmt::format("operation {} fails", n));
    const auto plan = std::make_shared<FaultPlan>();
    job.wrap_node = [plan](std::uint32_t, auto store) { return std::make_shared<FaultyStore>(store, plan); };
    plan->fail_once_at(n);
    Seen seen;
    run(seen);
    failed = plan->has_failed();
    plan->heal();
    expect_whole(seen, n);
  }
}

}  // namespace
}  // namespace cairn::test
