// A node dies slowly: its store fails now and then, and at last the node is lost. A snapshot that all ranks take
// because of the first signs saves what they have computed by then.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "format/health_file.hpp"
#include "session/session_impl.hpp"
#include "store/names.hpp"
#include "support/hooked_store.hpp"
#include "support/job.hpp"
#include "support/steps.hpp"

namespace cairn::test {
namespace {

// L2 is due once, long before the first signs.
constexpr const char* kL2OnceSettings =
    "[job]\non_storage_error = continue\n[levels]\nl1 = every 1\nl2 = every 1000000\nl3 = off\nl4 = off\n"
    "[restart]\nat_end = continue\n[localize]\nsilent_after = off\n";
constexpr std::uint32_t kStepsAfterwards = 30;
constexpr std::uint32_t kMostSteps = 3000;

class SlowDeath : public testing::Test {
 protected:
  void prepare(const std::string& act) {
    job.emplace(std::vector<std::uint32_t>{3, 3, 3}, kL2OnceSettings + act);
    job->clock = real_time;
    job->wrap_node = [this](std::uint32_t node, std::shared_ptr<Store> store) -> std::shared_ptr<Store> {
      if (node != 1) return store;
      return std::make_shared<HookedStore>(store, [this](const HookedStore::Operation& operation) -> Status {
        const bool creates = operation.kind == HookedStore::Operation::Kind::create;
        if (creates && operation.path.ends_with(".shard") && failures.fetch_sub(1) > 0)
          return fail(Code::io, operation.path + ": Input/output error");
        return {};
      });
    };
  }
  [[nodiscard]] bool is_known() { return read_text(job->global_store(), names::health()).has_value(); }
  // All ranks make the same calls, until the verdict is there and some more steps are taken.
  void die_slowly() {
    job->run_and_die([&](JobSession& session) {
      Steps steps(session);
      steps.restore();
      steps.advance_to(LevelId::partner);
      steps.wait_for_all();
      if (session.rank() == 2) failures = 6;
      for (std::uint32_t left = kStepsAfterwards; left > 0 && steps.step() < kMostSteps;) {
        const auto taken = steps.advance();
        if (session.rank() == 0 && taken) newest = *taken;
        std::uint64_t known = session.rank() == 0 && is_known() ? 1 : 0;
        EXPECT_TRUE(session.impl().ranks().allreduce({&known, 1}, Reduce::max));
        if (known != 0) --left;
        if (known == 0 && session.rank() == 0) healthy_until = steps.step();
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
      }
      steps.wait_for_all();
      if (session.rank() == 0) safe = session.safe_version(LevelId::partner);
    });
    ASSERT_TRUE(is_known());
    job->lose(1);
  }

  std::optional<Job> job;
  std::atomic<int> failures{0};  // of the next writes of shards to node 1
  std::atomic<std::uint32_t> healthy_until{0};
  std::atomic<std::uint32_t> newest{0}, safe{0};
};

TEST_F(SlowDeath, costs_all_steps_since_the_last_L2_if_verdicts_are_only_reported) {
  prepare("act = tell\n");
  die_slowly();
  EXPECT_EQ(safe, 1U);
  expect_restore(*job, 1);
}

TEST_F(SlowDeath, costs_only_the_steps_after_the_verdict_if_all_ranks_take_a_snapshot_then) {
  prepare("act = snapshot\n");
  die_slowly();
  std::uint32_t restored = 0;
  job->run_well_and_die([&](JobSession& session) {
    const std::uint32_t step = Steps(session).restore();
    if (session.rank() == 0) restored = step;
  });
  EXPECT_GT(restored, healthy_until);
  EXPECT_EQ(restored, safe);
  EXPECT_LT(restored, newest) << "it is one snapshot, and not each since then";
}

}  // namespace
}  // namespace cairn::test
