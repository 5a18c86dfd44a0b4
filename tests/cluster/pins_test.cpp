// Snapshots that are pinned stay in the global store.
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "format/pins.hpp"
#include "inspect/removal.hpp"
#include "recover/belonging.hpp"
#include "recover/retention.hpp"
#include "store/names.hpp"
#include "support/branch_settings.hpp"
#include "support/facts.hpp"
#include "support/faulty_store.hpp"
#include "support/job.hpp"
#include "support/job_stores.hpp"
#include "support/steps.hpp"

namespace cairn::test {
namespace {

const std::string kSettings = branch_settings(2, 1);

using Versions = std::vector<std::uint32_t>;

Job new_job() {
  Job job({2, 2, 2}, kSettings);
  job.log_level = "off";
  return job;
}

// Takes steps, and pins the snapshots of some of them.
void run_steps(JobSession& session, std::uint32_t count, const std::vector<std::uint32_t>& pinned) {
  Steps steps(session, 100);
  steps.restore();
  for (std::uint32_t i = 0; i < count; ++i) {
    if (std::ranges::count(pinned, steps.step() + 1) > 0) session.pin();
    steps.advance();
    steps.wait_for_all();
  }
}

void take(Job& job, std::uint32_t count, const std::vector<std::uint32_t>& pinned = {}) {
  job.run_well_and_die([&](JobSession& session) { run_steps(session, count, pinned); });
}

Versions at_l4(Job& job) { return contents_of(job.global_store()).versions; }

// The directory of a version there, which also names its run; empty: there is none.
std::string directory_at_l4(Job& job, std::uint32_t version) {
  const auto entries = job.global_store().list(DirName{});
  EXPECT_TRUE(entries);
  for (const names::SnapshotDir& dir : names::snapshots_in(*entries))
    if (dir.version.value == version && !dir.partial) return names::directory_of(dir).path;
  return {};
}

Versions pinned_in(Job& job) {
  Versions versions;
  const auto pins = read_pins(job.global_store(), {});
  EXPECT_TRUE(pins);
  for (const Identity& snapshot : pins.value()) versions.push_back(snapshot.version.value);
  return versions;
}

Identity identity_of(Job& job, std::uint32_t version) {
  const auto survey = take_survey(stores_of(job));
  EXPECT_TRUE(survey);
  for (const SnapshotView& view : view_snapshots(*survey))
    if (view.identity.version.value == version) return view.identity;
  ADD_FAILURE() << "there is no version " << version;
  return {};
}

TEST(Pins, stay_in_the_global_store_beside_those_that_are_kept) {
  Job job = new_job();
  take(job, 6, {3});
  EXPECT_EQ(at_l4(job), (Versions{3, 6}));
  EXPECT_EQ(pinned_in(job), Versions{3});
  take(job, 4);  // in the next life
  EXPECT_EQ(at_l4(job), (Versions{3, 10}));
  EXPECT_EQ(contents_of(job.node_store(0)).versions, (Versions{9, 10})) << "as without a pin";
}

TEST(Pins, can_be_restored_when_all_nodes_are_lost) {
  Job job = new_job();
  take(job, 6, {3});
  for (std::uint32_t node = 0; node < 3; ++node) job.lose(node);
  job.run_well_and_die([](JobSession& session) { EXPECT_EQ(Steps(session, 100).restore(3), 3U); });
}

TEST(Pins, stay_when_their_branch_is_abandoned_and_when_the_job_has_started_fresh) {
  Job job = new_job();
  take(job, 6, {3, 5});
  job.run_well_and_die([](JobSession& session) {
    Steps steps(session, 100);
    EXPECT_EQ(steps.restore(3), 3U);
    steps.advance_by(3);
    steps.wait_for_all();
  });
  EXPECT_EQ(at_l4(job), (Versions{3, 5, 9}));
  job.configure(std::string(kSettings) + "mode = fresh\n");
  job.run_well_and_die([](JobSession& session) { run_steps(session, 4, {}); });
  job.configure(kSettings);
  const Versions there = at_l4(job);
  EXPECT_TRUE(std::ranges::includes(there, Versions{3, 5})) << there.size();
}

// It takes another vote than later ones: what the first said is not forgotten.
TEST(Pins, stay_also_of_the_first_snapshot_of_a_job) {
  for (const char* head : {"", "[head]\nmode = inline\n"}) {
    Job job = new_job();
    job.configure(kSettings + head);
    take(job, 3, {1});
    EXPECT_EQ(pinned_in(job), Versions{1});
    EXPECT_EQ(at_l4(job), (Versions{1, 2}));
  }
}

TEST(Pins, end_when_they_are_unpinned) {
  Job job = new_job();
  take(job, 6, {3});
  ASSERT_TRUE(unpin(job.global_store(), identity_of(job, 3), sealer_of(job.global_store(), {})));
  EXPECT_EQ(pinned_in(job), Versions{});
  take(job, 2);
  EXPECT_EQ(at_l4(job), Versions{8});
}

TEST(Pins, reach_l4_also_if_it_is_off) {
  Job job({2, 2, 2}, "[levels]\nl1 = every 1\nl2 = off\nl3 = off\nl4 = off\n");
  job.log_level = "off";
  take(job, 3, {2});
  EXPECT_EQ(at_l4(job), Versions{2});
  EXPECT_EQ(pinned_in(job), Versions{2});
}

TEST(Pins, that_only_some_ranks_ask_for_are_refused) {
  Job job = new_job();
  job.run_and_die([](JobSession& session) {
    Steps steps(session, 100);
    steps.restore();
    if (session.rank() == 1) session.pin();
    steps.advance();
    steps.wait_for_all();
  });
  ASSERT_TRUE(job.cause());
  EXPECT_THAT(*job.cause(), Fails(ErrorKind::usage, {"different levels", "L4"}));
}

TEST(Pins, that_cannot_be_read_keep_all_that_is_there) {
  Job job = new_job();
  take(job, 6, {3});
  ASSERT_TRUE(write_text(job.global_store(), names::pins(), "nothing"));
  take(job, 4);
  const Versions there = at_l4(job);
  EXPECT_TRUE(std::ranges::includes(there, Versions{3, 6}));
  EXPECT_FALSE(pin(job.global_store(), identity_of(job, 6), {}));
}

TEST(Pins, are_left_by_prune_and_by_delete_without_force) {
  Job job = new_job();
  take(job, 6, {3});
  const JobStores stores = stores_of(job);
  const auto survey = take_survey(stores);
  ASSERT_TRUE(survey);
  const Identity three = identity_of(job, 3);
  const auto pruning = plan_pruning(stores, *survey, 1);
  ASSERT_TRUE(pruning);
  for (const Removal& removal : pruning->removals) EXPECT_NE(removal.snapshot, three);
  const auto deletion = plan_deletion(stores, *survey, {Version{3}});
  ASSERT_TRUE(deletion);
  EXPECT_TRUE(deletion->removals.empty());
  EXPECT_EQ(deletion->pinned, std::vector<Identity>{three});
  EXPECT_EQ(plan_deletion(stores, *survey, {Version{3}}, Pinned::go)->removals.size(), 1U);
}

TEST(Pins, of_snapshots_that_are_gone_are_dropped) {
  MemoryStore store;
  const auto id = [](std::uint32_t version) { return Identity{{1}, {version}, {5}}; };
  for (const std::uint32_t version : {1U, 2U, 3U}) {
    ASSERT_TRUE(pin(store, id(version), {}));
    ASSERT_TRUE(write_text(store, names::manifest(names::snapshot(id(version))), "x"));
  }
  ASSERT_TRUE(store.remove_directory(names::snapshot(id(1))));
  ASSERT_TRUE(pin(store, id(4), {}));
  EXPECT_EQ(read_pins(store, {}).value(), (Pins{id(2), id(3), id(4)}));
  ASSERT_TRUE(unpin(store, id(3), {}));
  EXPECT_EQ(read_pins(store, {}).value(), Pins{id(2)}) << "the snapshot of the other one never came";
}

// Whatever was written by then: if the snapshot is at L4, it is pinned, and stays while the job goes on.
TEST(Pins, crash_at_any_store_operation_leaves_a_snapshot_at_l4_pinned) {
  Job prepared = new_job();
  take(prepared, 2);
  const Job::Image image = prepared.image();
  bool crashed = true;
  for (std::uint64_t n = 0; crashed && !HasFailure(); ++n) {
    SCOPED_TRACE("crash at operation " + std::to_string(n));
    ASSERT_LT(n, 5000U) << "the sweep does not come to an end";
    Job job = new_job();
    job.put_back(image);
    const auto plan = std::make_shared<FaultPlan>();
    job.wrap_global = [plan](auto store) { return std::make_shared<FaultyStore>(store, plan); };
    plan->crash_at(n);
    job.run_and_die([](JobSession& session) {
      try {
        run_steps(session, 1, {3});
      } catch (const Exception&) {
        session.kill_job();
        throw;
      }
    });
    crashed = plan->has_failed();
    plan->heal();
    const std::string there = directory_at_l4(job, 3);
    if (!there.empty()) {
      EXPECT_EQ(pinned_in(job), Versions{3});
    }
    std::uint32_t restored = 0;
    job.run_well_and_die([&](JobSession& session) {
      Steps steps(session, 100);
      const std::uint32_t from = steps.restore();
      if (session.rank() == 0) restored = from;
      steps.advance_to(LevelId::global);
      steps.wait_for_all();
    });
    EXPECT_TRUE(restored == 2 || restored == 3) << restored;
    if (!there.empty()) {
      EXPECT_EQ(directory_at_l4(job, 3), there) << "it is pinned";
    }
  }
}

}  // namespace
}  // namespace cairn::test
