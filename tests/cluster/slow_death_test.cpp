// A node dies slowly: its store fails now and then, and at last the node is lost. A snapshot that all ranks take
// because of the first signs saves what they have computed by then.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "format/health_file.hpp"
#include "format/manifest.hpp"
#include "format/suspicion_file.hpp"
#include "session/session_impl.hpp"
#include "store/names.hpp"
#include "support/facts.hpp"
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
  void prepare(const std::string& act, const std::string& l2_and_l3 = {}) {
    std::string settings = kL2OnceSettings;
    if (!l2_and_l3.empty()) {
      settings.replace(settings.find("every 1000000"), std::string("every 1000000").size(), l2_and_l3);
      settings.replace(settings.find("l3 = off"), std::string("l3 = off").size(), "l3 = " + l2_and_l3);
    }
    job.emplace(std::vector<std::uint32_t>{3, 3, 3}, settings + act);
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
  void report_as_operator(std::uint32_t node) {
    const auto today = std::chrono::system_clock::now().time_since_epoch();
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(today).count();
    const SuspicionFile file{static_cast<std::uint64_t>(seconds), NodeId{node}, "its fan is loud"};
    ASSERT_TRUE(write_text(job->global_store(), names::suspicion(1), to_json(file)));
  }
  // All ranks make the same calls, until the verdict is there and some more steps are taken.
  void fall_sick() {
    job->run_and_die([&](JobSession& session) {
      Steps steps(session);
      steps.restore();
      steps.advance_to(LevelId::partner);
      steps.wait_for_all();
      if (session.rank() == 2) failures = writes_that_fail;
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
  }
  void die_slowly() {
    fall_sick();
    job->lose(1);
  }

  std::optional<Job> job;
  int writes_that_fail = 6;
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

// What node 1 keeps of other nodes, of each version that it has.
std::map<std::uint32_t, std::size_t> kept_by_version(const MemoryStore& store) {
  std::map<std::uint32_t, std::size_t> kept;
  const auto entries = store.list(DirName{}).value();
  for (const Entry& entry : entries) {
    const auto manifest = read_node_manifest(store, DirName{entry.name}, {});
    if (!manifest) continue;
    for (const Holding& holding : manifest->holdings)
      kept[manifest->identity.version.value] +=
          (holding.partner ? holding.partner->held.size() : 0) + (holding.erasure ? holding.erasure->parity.size() : 0);
  }
  return kept;
}

TEST_F(SlowDeath, keeps_copies_and_parity_away_from_the_node_while_the_job_runs) {
  prepare("act = avoid\n[erasure]\nparity = 1\n[storage]\nkeep_local = 3\n", "every 1");
  writes_that_fail = 0;
  report_as_operator(1);
  fall_sick();
  const auto kept = kept_by_version(job->node_store(1));
  ASSERT_FALSE(kept.empty());
  EXPECT_EQ(kept.rbegin()->first, newest);
  EXPECT_EQ(kept.rbegin()->second, 0U);
  const Job::Image image = job->image();
  for (std::uint32_t lost = 0; lost < 3; ++lost) {
    SCOPED_TRACE(lost);
    job->lose(lost);
    expect_restore(*job, newest);
    job->put_back(image);
  }
  // The next run begins with that layout, and goes on.
  take_steps(*job, 2);
  EXPECT_EQ(kept_by_version(job->node_store(1)).rbegin()->second, 0U);
  job->lose(2);
  expect_restore(*job, newest + 2);
}

// Heads vote on several versions at once, and each vote offers the layout while none has changed it.
TEST_F(SlowDeath, has_its_change_of_the_layout_logged_once) {
  prepare("act = avoid\n[erasure]\nparity = 1\n[storage]\nkeep_local = 3\n", "every 1");
  report_as_operator(1);
  job->log_level = "info";
  testing::internal::CaptureStderr();
  job->run_and_die([&](JobSession& session) {
    Steps steps(session);
    steps.restore();
    for (std::uint32_t left = kStepsAfterwards; steps.step() < kMostSteps;) {
      steps.advance();
      if (session.rank() == 0 && is_known() && left-- == 0) session.kill_job();
    }
  });
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_EQ(lines_that_name(log, {"sick nodes are avoided"}).size(), 1U) << log;
}

// The job dies some steps after the verdict, while its heads change the layout. Whatever was safe by then is restored,
// also if a node is lost with it.
TEST_F(SlowDeath, loses_nothing_that_was_safe_if_the_job_dies_while_the_layout_changes) {
  for (std::uint32_t steps_left = 0; steps_left < 12; ++steps_left) {
    SCOPED_TRACE(steps_left);
    prepare("act = avoid\n[erasure]\nparity = 1\n[storage]\nkeep_local = 2\n", "every 1");
    report_as_operator(1);
    safe = 0;
    job->run_and_die([&](JobSession& session) {
      Steps steps(session);
      steps.restore();
      for (std::uint32_t left = steps_left; steps.step() < kMostSteps;) {
        steps.advance();
        if (session.rank() != 0) continue;
        safe = std::max(session.safe_version(LevelId::partner), session.safe_version(LevelId::erasure));
        if (is_known() && left-- == 0) session.kill_job();
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    });
    ASSERT_GT(safe, 0U);
    const Job::Image image = job->image();
    for (std::uint32_t lost = 0; lost < 4; ++lost) {
      SCOPED_TRACE(lost);
      if (lost < 3) job->lose(lost);
      job->run_well_and_die([&](JobSession& session) { EXPECT_GE(Steps(session).restore(), safe); });
      job->put_back(image);
    }
  }
}

}  // namespace
}  // namespace cairn::test
