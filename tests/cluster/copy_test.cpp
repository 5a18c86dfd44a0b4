// A snapshot that is copied to another global store: from which levels, what a crash on the way leaves, and what a job
// that starts there restores.
#include <algorithm>
#include <memory>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "inspect/audit.hpp"
#include "inspect/snapshot_copy.hpp"
#include "recover/belonging.hpp"
#include "store/names.hpp"
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

constexpr RunId kChain{0x5eed};

MATCHER(Succeeds, "") {
  if (!arg) *result_listener << arg.error().text();
  return arg.has_value();
}

class Copies : public testing::Test {
 protected:
  Copies() : job({2, 2, 2}, kTenStepsSettings), elsewhere({2, 2, 2}, kTenStepsSettings) { take_steps(job, kTenSteps); }

  // Into the global store of the job elsewhere, as `to` lets it be written.
  Status copy(std::uint32_t version, Store& to) {
    const JobStores from = stores_of(job);
    const auto survey = take_survey(from);
    if (!survey) return fail(survey.error());
    const auto views = view_snapshots(*survey);
    const auto view =
        std::ranges::find_if(views, [&](const SnapshotView& one) { return one.identity.version.value == version; });
    if (view == views.end()) return fail(Code::not_found, "no such version");
    auto reader = SnapshotReader::open(from, *survey, *view);
    if (!reader) return fail(reader.error());
    const auto place = look_at_copy_place(&to, from.sealer, *survey, view->identity, kChain);
    if (!place) return fail(place.error());
    return copy_snapshot(*reader, *view, from.sealer, to, *place);
  }
  Status copy(std::uint32_t version) { return copy(version, elsewhere.global_store()); }
  // Newest first.
  [[nodiscard]] std::vector<std::uint32_t> versions_elsewhere() {
    const auto audit = audit_stores(stores_of(elsewhere), {});
    EXPECT_TRUE(audit) << audit.error().text();
    std::vector<std::uint32_t> versions;
    for (const SnapshotAudit& one : audit->snapshots) {
      EXPECT_TRUE(one.recovery.possible) << one.view.identity.version.value;
      for (const Finding& finding : one.findings) EXPECT_EQ(finding.state, Finding::State::good) << finding.where;
      versions.push_back(one.view.identity.version.value);
    }
    return versions;
  }

  Job job;
  Job elsewhere;
};

TEST_F(Copies, of_each_level_are_restored_elsewhere) {
  const Job::Image empty = elsewhere.image();
  const Job::Image before = job.image();
  for (const std::uint32_t version : {10U, 9U, 8U, 7U, 6U, 3U}) {
    ASSERT_THAT(copy(version), Succeeds());
    EXPECT_THAT(versions_elsewhere(), ElementsAre(version));
    expect_restore(elsewhere, version);
    elsewhere.put_back(empty);
  }
  EXPECT_EQ(job.image().nodes, before.nodes);
  EXPECT_EQ(job.image().global, before.global);
}

TEST_F(Copies, have_the_parts_of_a_lost_node_from_copies_and_parity) {
  job.lose(1);
  const Job::Image empty = elsewhere.image();
  ASSERT_THAT(copy(8), Succeeds());
  expect_restore(elsewhere, 8);
  elsewhere.put_back(empty);
  job.lose_global_snapshots();
  ASSERT_THAT(copy(9), Succeeds());
  expect_restore(elsewhere, 9);
  elsewhere.put_back(empty);
  EXPECT_FALSE(copy(10));
  EXPECT_THAT(contents_of(elsewhere.global_store()).versions, IsEmpty());
}

TEST_F(Copies, pass_over_a_damaged_source) {
  const Identity snapshot = view_snapshots(*take_survey(stores_of(job))).at(1).identity;
  ASSERT_EQ(snapshot.version, Version{9});
  ASSERT_THAT(job.node_store(0).corrupt(names::shard(names::snapshot(snapshot), Rank{0}), 5000), Succeeds());
  ASSERT_THAT(copy(9), Succeeds());
  expect_restore(elsewhere, 9);
}

TEST_F(Copies, come_together_in_one_store_in_any_order) {
  for (const std::uint32_t version : {9U, 3U, 10U, 9U}) ASSERT_THAT(copy(version), Succeeds());
  EXPECT_THAT(versions_elsewhere(), ElementsAre(10, 9, 3));
  expect_restore(elsewhere, 10);
}

TEST_F(Copies, of_several_lives_come_together) {
  job.run_well_and_die([](JobSession& session) {
    Steps steps(session);
    steps.restore();
    steps.advance_by(2);
    steps.wait_for_all();
  });
  for (const std::uint32_t version : {12U, 9U}) ASSERT_THAT(copy(version), Succeeds());
  EXPECT_THAT(versions_elsewhere(), ElementsAre(12, 9));
  expect_restore(elsewhere, 12);
}

TEST_F(Copies, are_of_another_chain_whose_runs_refuse_the_node_stores_of_the_first) {
  ASSERT_THAT(copy(9), Succeeds());
  Job moved({2, 2, 2}, kTenStepsSettings);
  Job::Image image = job.image();
  image.global = elsewhere.image().global;
  moved.put_back(image);
  EXPECT_THAT(thrown_by([&] { moved.run([](JobSession& session) { Steps(session).restore(); }); }),
              Fails(ErrorKind::mismatch, {"belong to"}));
}

TEST_F(Copies, are_refused_where_a_run_has_continued) {
  ASSERT_THAT(copy(9), Succeeds());
  elsewhere.run_well_and_die([](JobSession& session) { EXPECT_EQ(Steps(session).restore(), 9U); });
  const Job::Image before = elsewhere.image();
  const Status refused = copy(10);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::mismatch);
  EXPECT_EQ(elsewhere.image().global, before.global);
}

TEST_F(Copies, are_made_again_where_a_removal_was_begun_and_not_beside_a_damaged_manifest) {
  ASSERT_THAT(copy(9), Succeeds());
  const FileName manifest =
      names::manifest(names::snapshot(view_snapshots(*take_survey(stores_of(elsewhere))).front().identity));
  const Job::Image whole = elsewhere.image();
  ASSERT_THAT(elsewhere.global_store().remove(manifest), Succeeds());
  ASSERT_THAT(copy(9), Succeeds());
  expect_restore(elsewhere, 9);
  elsewhere.put_back(whole);
  ASSERT_THAT(elsewhere.global_store().corrupt(manifest, 200), Succeeds());
  EXPECT_THAT(copy(9), Fails(Code::corrupt, {manifest.path}));
}

// Each operation of the store that takes it: then it is there as a whole, or not at all, and can be copied again.
TEST_F(Copies, that_crash_at_any_store_operation_are_whole_or_absent) {
  ASSERT_THAT(copy(6), Succeeds());
  const Job::Image before = elsewhere.image();
  bool crashed = true;
  bool seen_absent = false;
  for (std::uint64_t n = 0; crashed && !HasFailure(); ++n) {
    SCOPED_TRACE("crash at operation " + std::to_string(n));
    ASSERT_LT(n, 1000U) << "the sweep does not come to an end";
    elsewhere.put_back(before);
    const auto faults = std::make_shared<FaultPlan>();
    faults->crash_at(n);
    HookedStore to(seen(elsewhere.global_store()),
                   [&](const HookedStore::Operation& operation) { return faults->operation(operation.path); });
    crashed = !copy(9, to);
    EXPECT_EQ(crashed, faults->has_failed());
    const auto versions = versions_elsewhere();
    seen_absent |= versions.size() == 1;
    const Job::Image left = elsewhere.image();
    expect_restore(elsewhere, versions.front());
    elsewhere.put_back(left);
    ASSERT_THAT(copy(9), Succeeds());
    EXPECT_THAT(versions_elsewhere(), ElementsAre(9, 6));
  }
  EXPECT_TRUE(seen_absent);
}

// Of the job's own global store. Each operation: what is at L4 is whole, and what is pinned and there stays; a second
// try completes the rest.
TEST_F(Copies, of_a_pin_that_crash_at_any_store_operation_leave_all_whole) {
  const Job::Image before = job.image();
  const auto pin_it = [&](std::uint32_t version, Store& global) -> Status {
    const JobStores stores = stores_of(job);
    const auto survey = take_survey(stores);
    const auto views = view_snapshots(*survey);
    const auto view =
        std::ranges::find_if(views, [&](const SnapshotView& one) { return one.identity.version.value == version; });
    return pin_snapshot(stores, *survey, *view, global, kChain).map([](bool) {});
  };
  const auto pinned = [&] {
    std::vector<std::uint32_t> versions;
    const auto survey = take_survey(stores_of(job));
    for (const Identity& one : survey->pins) {
      if (!survey->shared_of(one).empty()) versions.push_back(one.version.value);
    }
    return versions;
  };
  bool crashed = true;
  bool seen_absent = false;
  for (std::uint64_t n = 0; crashed && !HasFailure(); ++n) {
    SCOPED_TRACE("crash at operation " + std::to_string(n));
    ASSERT_LT(n, 1000U) << "the sweep does not come to an end";
    job.put_back(before);
    const auto faults = std::make_shared<FaultPlan>();
    faults->crash_at(n);
    HookedStore to(seen(job.global_store()),
                   [&](const HookedStore::Operation& operation) { return faults->operation(operation.path); });
    crashed = !pin_it(8, to);
    EXPECT_EQ(crashed, faults->has_failed());
    seen_absent |= pinned().empty();
    const auto audit = audit_stores(stores_of(job), {});
    for (const SnapshotAudit& one : audit->snapshots) EXPECT_TRUE(one.recovery.possible);
    EXPECT_EQ(audit->count(Finding::State::damaged) + audit->count(Finding::State::missing), 0U);
    ASSERT_THAT(pin_it(8, job.global_store()), Succeeds());
    EXPECT_THAT(pinned(), ElementsAre(8));
    take_steps(job, 6);
    EXPECT_THAT(pinned(), ElementsAre(8));
  }
  EXPECT_TRUE(seen_absent);
}

TEST_F(Copies, without_the_jobs_records_are_restored_all_the_same) {
  job.global_store().wipe();
  ASSERT_THAT(copy(9), Succeeds());
  expect_restore(elsewhere, 9);
}

}  // namespace
}  // namespace cairn::test
