// The crash sweep: a whole run crashes at store or message operation 0, 1, 2 … until it succeeds; each time the next
// run has the previous or the new version, whole.
#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "support/facts.hpp"
#include "support/faulty_store.hpp"
#include "support/job.hpp"
#include "support/steps.hpp"

namespace cairn::test {
namespace {

constexpr std::size_t kState = 300;
constexpr std::uint32_t kSteps = 3;

// Step s is version s: all levels, and with one kept version two retirements.
constexpr const char* kSettings = R"([job]
on_storage_error = throw
[storage]
keep_local = 1
[levels]
l1 = every 1
l2 = every 1
l3 = every 2
l4 = every 2
[erasure]
group = 3
parity = 1
[restart]
at_end = continue
)";

void raise_to(std::atomic<std::uint32_t>& highest, std::uint32_t value) {
  std::uint32_t seen = highest;
  while (seen < value && !highest.compare_exchange_weak(seen, value)) {
  }
}

// What ranks saw of a run before it crashed.
struct Progress {
  std::atomic<std::uint32_t> tried{0};
  std::atomic<std::uint32_t> safe{0};        // newest that some rank knew to be safe
  std::atomic<std::uint32_t> protected_{0};  // … and to survive the loss of a node
};

// Runs kSteps steps; a rank that meets an error takes the job with it. Waits after each step, or only at the end.
void compute(JobSession& session, Progress& progress, bool wait_each) {
  try {
    Steps steps(session, kState);
    steps.restore();
    const auto wait = [&](LevelId level, std::uint32_t version) {
      session.wait(level);
      raise_to(progress.safe, version);
      if (level != LevelId::local) raise_to(progress.protected_, version);
    };
    for (std::uint32_t i = 0; i < kSteps; ++i) {
      raise_to(progress.tried, steps.step() + 1);
      steps.advance();
      if (!wait_each) continue;
      wait(LevelId::local, steps.step());
      wait(LevelId::partner, steps.step());
      if (steps.step() % 2 == 0) wait(LevelId::erasure, steps.step());
    }
    wait(LevelId::partner, steps.step());
    wait(LevelId::global, steps.step() - steps.step() % 2);
    session.finalize();
  } catch (const Exception&) {
    session.kill_job();
    throw;
  }
}

// The next run: what it went on from, the same on all ranks. Then it computes on, which must go well.
std::uint32_t restart(Job& job, const std::string& where) {
  std::mutex mutex;
  std::set<std::uint32_t> found;
  const auto go_on = [&](JobSession& session) {
    Steps steps(session, kState);
    const std::uint32_t step = steps.restore();
    {
      const std::scoped_lock lock(mutex);
      found.insert(step);
    }
    steps.advance();
    steps.wait_for_all();
  };
  EXPECT_THAT(thrown_by([&] { job.run(go_on); }), testing::IsEmpty()) << where;
  for (const auto& [rank, failure] : job.errors()) ADD_FAILURE() << where << ": rank " << rank << ": " << failure;
  EXPECT_EQ(found.size(), 1U) << where << ": ranks went on from different versions";
  return found.empty() ? 0 : *found.begin();
}

// Nothing half made may stay behind.
void expect_tidy(Job& job, const std::string& where) {
  for (std::uint32_t node = 0; node < job.nodes(); ++node) {
    EXPECT_EQ(contents_of(job.node_store(node)).without_manifest, 0U) << where << ": node " << node;
  }
  EXPECT_EQ(contents_of(job.global_store()).without_manifest, 0U) << where;
  EXPECT_EQ(contents_of(job.global_store()).partial, 0U) << where;
}

using WrapStores = std::function<void(Job&, const std::shared_ptr<FaultPlan>&)>;

void wrap_all(Job& job, const std::shared_ptr<FaultPlan>& plan) {
  job.wrap_node = [plan](std::uint32_t, auto store) { return std::make_shared<FaultyStore>(store, plan); };
  job.wrap_global = [plan](auto store) { return std::make_shared<FaultyStore>(store, plan); };
}

void wrap_node_one(Job& job, const std::shared_ptr<FaultPlan>& plan) {
  job.wrap_node = [plan](std::uint32_t node, auto store) -> std::shared_ptr<Store> {
    if (node != 1) return store;
    return std::make_shared<FaultyStore>(store, plan);
  };
}

void wrap_global_store(Job& job, const std::shared_ptr<FaultPlan>& plan) {
  job.wrap_global = [plan](auto store) { return std::make_shared<FaultyStore>(store, plan); };
}

// Crashes at operation n, restarts over what is left. Returns whether the crash came.
bool crash_and_restart(const WrapStores& wrap, std::uint64_t n, bool wait_each) {
  const std::string where = "crash at operation " + std::to_string(n);
  SCOPED_TRACE(where);
  const auto plan = std::make_shared<FaultPlan>();
  Job job({2, 2, 2}, kSettings);
  job.log_level = "off";
  wrap(job, plan);
  plan->crash_at(n);
  Progress progress;
  job.run_and_die([&](JobSession& session) { compute(session, progress, wait_each); });
  const bool crashed = plan->has_failed();
  plan->heal();
  const std::uint32_t found = restart(job, where);
  EXPECT_GE(found, progress.safe) << where << ": a safe version is lost";
  EXPECT_LE(found, progress.tried) << where;
  expect_tidy(job, where);
  return crashed;
}

void sweep(const WrapStores& wrap, std::uint64_t first, std::uint64_t stride) {
  bool crashed = true;
  for (std::uint64_t n = first; crashed && !testing::Test::HasFailure(); n += stride) {
    ASSERT_LT(n, 5000U) << "the sweep does not come to an end";
    crashed = crash_and_restart(wrap, n, n % 2 == 0);
  }
}

TEST(Crash, at_any_operation_of_one_node_leaves_the_old_or_the_new_version) { sweep(wrap_node_one, 0, 1); }

TEST(Crash, at_any_operation_of_the_global_store_leaves_the_old_or_the_new_version) { sweep(wrap_global_store, 0, 1); }

TEST(Crash, at_operations_of_all_stores_leaves_the_old_or_the_new_version) { sweep(wrap_all, 1, 3); }

// As above, and then a node is lost: what was safe beyond L1 is still there.
TEST(Crash, followed_by_the_loss_of_a_node_leaves_what_was_safe_beyond_it) {
  bool crashed = true;
  for (std::uint64_t n = 5; crashed && !HasFailure(); n += 4) {
    const std::string where = "crash at operation " + std::to_string(n);
    const auto plan = std::make_shared<FaultPlan>();
    Job job({2, 2, 2}, kSettings);
    job.log_level = "off";
    wrap_all(job, plan);
    plan->crash_at(n);
    Progress progress;
    job.run_and_die([&](JobSession& session) { compute(session, progress, true); });
    crashed = plan->has_failed();
    plan->heal();
    job.lose(static_cast<std::uint32_t>(n % 3));
    if (progress.protected_ == 0) continue;  // it may be beyond help, and says so
    const std::uint32_t found = restart(job, where);
    EXPECT_GE(found, progress.protected_) << where << ": a version that was safe at L2 is lost";
    EXPECT_LE(found, progress.tried) << where;
  }
}

TEST(Crash, at_a_message_leaves_the_old_or_the_new_version) {
  bool crashed = true;
  std::mt19937 random(42);
  std::uniform_int_distribution<std::uint64_t> stride(3, 15);
  for (std::uint64_t n = 0; crashed && !HasFailure(); n += stride(random)) {
    const std::string where = "crash at message operation " + std::to_string(n);
    ASSERT_LT(n, 20000U) << "the sweep does not come to an end";
    Job job({2, 2, 2}, kSettings);
    job.log_level = "off";
    job.message_faults = std::make_shared<CommFaultPlan>();
    job.message_faults->first_failing = n;
    Progress progress;
    job.run_and_die([&](JobSession& session) { compute(session, progress, n % 2 == 0); });
    crashed = job.message_faults->failing;
    job.message_faults.reset();
    const std::uint32_t found = restart(job, where);
    EXPECT_GE(found, progress.safe) << where << ": a safe version is lost";
    EXPECT_LE(found, progress.tried) << where;
    expect_tidy(job, where);
  }
}

// Restores and rebuilds what was lost, until all of that is done.
void restore_and_rebuild(JobSession& session) {
  try {
    Steps steps(session, kState);
    steps.restore();
    session.finalize();
  } catch (const Exception&) {
    session.kill_job();
    throw;
  }
}

// A job that has taken its steps and then lost a node.
void prepare_loss(Job& job) {
  job.run_and_die([](JobSession& session) {
    Steps steps(session, kState);
    steps.restore();
    steps.advance_by(kSteps);
    steps.wait_for_all();
  });
  ASSERT_TRUE(job.errors().empty()) << job.errors().begin()->second;
  job.lose(0);
}

TEST(Crash, at_any_store_operation_of_a_restore_or_rebuild_loses_nothing) {
  bool crashed = true;
  for (std::uint64_t n = 0; crashed && !HasFailure(); n += 2) {
    const std::string where = "crash at operation " + std::to_string(n) + " of a restore";
    Job job({2, 2, 2}, kSettings);
    job.log_level = "off";
    prepare_loss(job);
    const auto plan = std::make_shared<FaultPlan>();
    wrap_all(job, plan);
    plan->crash_at(n);
    job.run_and_die(restore_and_rebuild);
    crashed = plan->has_failed();
    plan->heal();
    EXPECT_EQ(restart(job, where), kSteps) << where;
    expect_tidy(job, where);
  }
}

TEST(Crash, at_any_message_of_a_restore_or_rebuild_loses_nothing) {
  bool crashed = true;
  for (std::uint64_t n = 0; crashed && !HasFailure(); n += 5) {
    const std::string where = "crash at message operation " + std::to_string(n) + " of a restore";
    Job job({2, 2, 2}, kSettings);
    job.log_level = "off";
    prepare_loss(job);
    job.message_faults = std::make_shared<CommFaultPlan>();
    job.message_faults->first_failing = n;
    job.run_and_die(restore_and_rebuild);
    crashed = job.message_faults->failing;
    job.message_faults.reset();
    EXPECT_EQ(restart(job, where), kSteps) << where;
  }
}

}  // namespace
}  // namespace cairn::test
