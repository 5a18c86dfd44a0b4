// Heads find out which node is sick, and report it in the log and in health.json.
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "format/health_file.hpp"
#include "store/names.hpp"
#include "support/hooked_store.hpp"
#include "support/job.hpp"
#include "support/steps.hpp"

namespace cairn::test {
namespace {

using localize::Fault;

constexpr const char* kSettings =
    "[levels]\nl1 = every 1\nl2 = off\nl3 = off\nl4 = off\n[restart]\nat_end = continue\n";

std::chrono::microseconds steady(std::uint32_t /*world_rank*/) {
  return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now().time_since_epoch());
}

std::optional<HealthFile> health_of(Job& job) {
  const auto text = read_text(job.global_store(), names::health());
  if (!text) return {};
  const auto health = parse_health_file(*text);
  EXPECT_TRUE(health) << health.error().text();
  return health ? std::optional(*health) : std::nullopt;
}

// A job whose node 1 fails to make shards while `fails` is set.
struct FailingJob {
  explicit FailingJob(std::string settings) : job({3, 3, 3}, std::move(settings)) {
    job.clock = steady;
    job.wrap_node = [this](std::uint32_t node, std::shared_ptr<Store> store) -> std::shared_ptr<Store> {
      if (node != 1) return store;
      return std::make_shared<HookedStore>(store, [this](const HookedStore::Operation& operation) -> Status {
        const bool creates = operation.kind == HookedStore::Operation::Kind::create;
        if (fails && creates && operation.path.ends_with(".shard"))
          return fail(Code::io, operation.path + ": Input/output error");
        return {};
      });
    };
  }
  // Takes snapshots until the heads have found something, or for so many times.
  void run(int most) {
    job.run_and_die([&](JobSession& session) {
      Steps steps(session);
      steps.restore();
      fails = true;
      for (int i = 0; i < most && !health_of(job); ++i) {
        steps.advance();
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
      }
    });
  }
  Job job;
  std::atomic<bool> fails{false};
};

TEST(FaultDesk, names_the_node_whose_store_fails) {
  FailingJob failing(kSettings);
  failing.run(1000);
  const auto health = health_of(failing.job);
  ASSERT_TRUE(health);
  ASSERT_EQ(health->entries.size(), 1U);
  const HealthEntry& entry = health->entries.front();
  EXPECT_EQ(entry.verdict.fault, Fault::store_failing);
  EXPECT_EQ(entry.verdict.suspect.node, NodeId{1});
  EXPECT_EQ(entry.verdict.analyst, NodeId{0});
  EXPECT_FALSE(entry.verdict.evidence.empty());
  EXPECT_FALSE(entry.verdict.findings.empty());
}

TEST(FaultDesk, reports_nothing_where_it_is_off) {
  FailingJob failing(std::string(kSettings) + "[localize]\nmode = off\n");
  failing.run(50);
  EXPECT_FALSE(health_of(failing.job));
}

TEST(FaultDesk, reports_nothing_about_healthy_stores) {
  Job job({3, 3, 3}, kSettings);
  job.clock = steady;
  job.run_and_die([](JobSession& session) {
    Steps steps(session);
    steps.restore();
    for (int i = 0; i < 50; ++i) steps.advance();
  });
  EXPECT_FALSE(health_of(job));
}

}  // namespace
}  // namespace cairn::test
