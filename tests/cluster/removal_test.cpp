// Snapshots that are removed while the job does not run: which ones go, what a crash on the way leaves, and what the
// next run restores.
#include <algorithm>
#include <chrono>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "inspect/audit.hpp"
#include "inspect/removal.hpp"
#include "support/facts.hpp"
#include "support/faulty_store.hpp"
#include "support/hooked_store.hpp"
#include "support/job.hpp"
#include "support/job_stores.hpp"
#include "support/steps.hpp"

namespace cairn::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class Removals : public testing::Test {
 protected:
  Removals() : job({2, 2, 2}, kTenStepsSettings) { take_steps(job, kTenSteps); }

  // The stores of the job, each operation under a plan.
  [[nodiscard]] WritableStores writable(const std::shared_ptr<FaultPlan>& plan = std::make_shared<FaultPlan>());

  [[nodiscard]] Survey survey() {
    auto taken = take_survey(stores_of(job));
    EXPECT_TRUE(taken) << taken.error().text();
    return std::move(*taken);
  }
  [[nodiscard]] RemovalPlan deletion(const std::set<Version>& versions) {
    return checked(plan_deletion(stores_of(job), survey(), versions));
  }
  [[nodiscard]] RemovalPlan pruning(std::uint32_t keep) {
    return checked(plan_pruning(stores_of(job), survey(), keep));
  }
  void carry_out(const RemovalPlan& plan) {
    const auto removed = remove_snapshots(plan, writable(), [](const Removal&) {});
    ASSERT_TRUE(removed) << removed.error().text();
  }
  // Newest first.
  [[nodiscard]] std::vector<std::uint32_t> recoverable() {
    std::vector<std::uint32_t> versions;
    const Survey taken = survey();
    for (const SnapshotView& view : view_snapshots(taken))
      if (plan_recovery(taken, view).possible) versions.push_back(view.identity.version.value);
    return versions;
  }
  // What list would name as recoverable can be read completely, and no manifest names a file that is not there.
  void expect_listed_is_whole(const std::string& where) {
    AuditOptions options;
    options.patience = std::chrono::milliseconds(0);  // no job writes meanwhile
    const auto audit = audit_stores(stores_of(job), options);
    ASSERT_TRUE(audit) << where << audit.error().text();
    std::vector<std::uint32_t> whole;
    for (const SnapshotAudit& snapshot : audit->snapshots) {
      if (snapshot.recovery.possible) whole.push_back(snapshot.view.identity.version.value);
      for (const Finding& finding : snapshot.findings)
        EXPECT_TRUE(finding.state == Finding::State::good || finding.file.path.empty()) << where << finding.where;
    }
    EXPECT_THAT(audit->others, IsEmpty()) << where;
    EXPECT_EQ(whole, recoverable()) << where;
  }
  void sweep(const RemovalPlan& plan);

  Job job;

 private:
  static RemovalPlan checked(Result<RemovalPlan> plan) {
    EXPECT_TRUE(plan) << plan.error().text();
    return std::move(*plan);
  }
};

// Removes a directory file by file, the manifest last, as a store might whose directories do not disappear in one step.
class TearingStore final : public HookedStore {
 public:
  using HookedStore::HookedStore;
  Status remove_directory(const DirName& name) override {
    auto entries = list(name);
    if (!entries) return fail(entries.error());
    std::ranges::reverse(*entries);
    for (const Entry& entry : *entries)
      if (auto status = remove({name.path + "/" + entry.name}); !status) return status;
    return HookedStore::remove_directory(name);
  }
};

WritableStores Removals::writable(const std::shared_ptr<FaultPlan>& plan) {
  const auto count = [plan](const HookedStore::Operation& operation) { return plan->operation(operation.path); };
  WritableStores all{{StoreId::global(), std::make_shared<HookedStore>(seen(job.global_store()), count)}};
  for (std::uint32_t node = 0; node < job.nodes(); ++node)
    all.emplace(StoreId::node(node), std::make_shared<TearingStore>(seen(job.node_store(node)), count));
  return all;
}

// Crashes at each operation. Then the next run restores the newest snapshot that is listed; and the same removal, made
// again, leaves what it would have left without a crash.
void Removals::sweep(const RemovalPlan& plan) {
  const Job::Image before = job.image();
  carry_out(plan);
  const Job::Image after = job.image();
  bool crashed = true;
  for (std::uint64_t n = 0; crashed && !HasFailure(); ++n) {
    const std::string where = "crash at operation " + std::to_string(n) + ": ";
    ASSERT_LT(n, 1000U) << "the sweep does not come to an end";
    job.put_back(before);
    const auto faults = std::make_shared<FaultPlan>();
    faults->crash_at(n);
    crashed = !remove_snapshots(plan, writable(faults), [](const Removal&) {});
    EXPECT_EQ(crashed, faults->has_failed()) << where;
    expect_listed_is_whole(where);
    const auto listed = recoverable();
    const Job::Image left = job.image();
    ASSERT_FALSE(listed.empty()) << where;
    expect_restore(job, listed.front());
    job.put_back(left);
    std::set<Version> versions;
    for (const Removal& removal : plan.removals) versions.insert(removal.snapshot.version);
    carry_out(deletion(versions));
    EXPECT_EQ(job.image().nodes, after.nodes) << where;
    EXPECT_EQ(job.image().global, after.global) << where;
  }
}

TEST_F(Removals, of_the_newest_version_has_a_restart_restore_the_newest_that_is_left) {
  const RemovalPlan plan = deletion({Version{10}, Version{9}});
  EXPECT_FALSE(plan.takes_last);
  EXPECT_EQ(plan.removals.size(), 2U);
  carry_out(plan);
  EXPECT_THAT(recoverable(), ElementsAre(8, 7, 6, 3));
  expect_restore(job, 8);
}

TEST_F(Removals, by_prune_keep_the_newest_recoverable_ones) {
  const RemovalPlan plan = pruning(2);
  EXPECT_FALSE(plan.takes_last);
  EXPECT_EQ(plan.kept.size(), 2U);
  carry_out(plan);
  EXPECT_THAT(recoverable(), ElementsAre(10, 9));
  for (std::uint32_t node = 0; node < job.nodes(); ++node)
    EXPECT_THAT(contents_of(job.node_store(node)).versions, ElementsAre(9, 10));
  EXPECT_THAT(contents_of(job.global_store()).versions, ElementsAre(9));
  expect_listed_is_whole("");
  EXPECT_TRUE(pruning(2).removals.empty());
  expect_restore(job, 10);
}

TEST_F(Removals, by_prune_keep_everything_where_there_are_not_more) { EXPECT_TRUE(pruning(6).removals.empty()); }

TEST_F(Removals, tell_that_no_snapshot_would_be_left) {
  std::set<Version> all;
  for (std::uint32_t version = 1; version < kTenSteps; ++version) all.insert(Version{version});
  EXPECT_FALSE(deletion(all).takes_last);
  all.insert(Version{kTenSteps});
  const RemovalPlan plan = deletion(all);
  EXPECT_TRUE(plan.takes_last);
  carry_out(plan);
  EXPECT_THAT(recoverable(), IsEmpty());
  EXPECT_THAT(thrown_by([&] { job.run([](JobSession& session) { Steps(session).restore(); }); }), Not(IsEmpty()));
}

// The other nodes' parts of 10, 8 and 7 do not make a snapshot without node 0; 9 has copies, 6 and 3 are at L4, and 8
// has parity.
TEST_F(Removals, by_prune_do_not_count_what_a_lost_node_has_made_unrecoverable) {
  job.lose(0);
  EXPECT_THAT(recoverable(), ElementsAre(9, 8, 6, 3));
  const Job::Image before = job.image();
  carry_out(pruning(1));
  EXPECT_THAT(recoverable(), ElementsAre(9));
  EXPECT_THAT(contents_of(job.node_store(1)).versions, ElementsAre(9, 10));
  job.put_back(before);
  // The store of node 0 may only be away: with it, 7 would be the third.
  carry_out(pruning(3));
  EXPECT_THAT(recoverable(), ElementsAre(9, 8, 6));
  EXPECT_THAT(contents_of(job.node_store(1)).versions, ElementsAre(7, 8, 9, 10));
  expect_restore(job, 9);
}

// No run restores the abandoned ones any more.
TEST_F(Removals, do_not_count_what_was_abandoned_for_an_older_version) {
  job.run_well_and_die([](JobSession& session) { EXPECT_EQ(Steps(session).restore(7), 7U); });
  EXPECT_TRUE(deletion({Version{7}, Version{6}, Version{3}}).takes_last);
  carry_out(pruning(1));
  EXPECT_THAT(recoverable(), ElementsAre(10, 9, 8, 7));
  expect_restore(job, 7);
}

TEST_F(Removals, that_crash_at_any_store_operation_leave_what_is_listed_whole) {
  sweep(deletion({Version{10}, Version{9}, Version{6}}));
}

TEST_F(Removals, by_prune_that_crash_at_any_store_operation_leave_what_is_listed_whole) { sweep(pruning(2)); }

}  // namespace
}  // namespace cairn::test
