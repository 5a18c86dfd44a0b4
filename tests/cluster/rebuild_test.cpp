// What a job that does not run has lost of its snapshots is made again from what is left: what was there before, byte
// by byte, what a crash on the way leaves, and what cannot be made again.
#include <algorithm>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "inspect/audit.hpp"
#include "inspect/rebuild.hpp"
#include "store/names.hpp"
#include "support/facts.hpp"
#include "support/faulty_store.hpp"
#include "support/job.hpp"
#include "support/job_stores.hpp"
#include "support/key_file.hpp"
#include "support/sample_manifest.hpp"
#include "support/steps.hpp"

namespace cairn::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

MATCHER(Succeeds, "") {
  if (!arg) *result_listener << arg.error().text();
  return arg.has_value();
}

using Wrap = std::function<std::shared_ptr<Store>(std::shared_ptr<Store>)>;

// What is rebuilt, and why the rest is not.
struct Outcome {
  Status status;
  std::uint64_t files = 0;
  std::vector<NotRebuilt::Why> left;
};

// Versions 10 and 7 are only at L1; 9 is at L2 and L4, 8 at L3.
class Rebuilds : public testing::Test {
 protected:
  explicit Rebuilds(const std::string& more = {}) : job({2, 2, 2}, kTenStepsSettings + more) {
    take_steps(job, kTenSteps);
    whole = job.image();
  }

  [[nodiscard]] JobStores stores() {
    JobStores all = stores_of(job);
    all.sealer = sealer;
    return all;
  }

  Outcome rebuild_version(
      std::uint32_t version, const Wrap& wrap = [](std::shared_ptr<Store> store) { return store; }) {
    const JobStores all = stores();
    AuditOptions options;
    options.version = Version{version};
    options.patience = {};
    const auto survey = take_survey(all);
    const auto audit = audit_stores(all, options);
    if (!survey || !audit) return {fail(!survey ? survey.error() : audit.error()), 0, {}};
    Outcome outcome;
    for (const SnapshotAudit& snapshot : audit->snapshots) {
      const RebuildPlan plan = plan_rebuild(all, *survey, snapshot);
      outcome.files += plan.files();
      for (const NotRebuilt& left : plan.left) outcome.left.push_back(left.why);
      WritableStores writable;
      for (std::uint32_t node = 0; node < job.nodes(); ++node)
        writable.emplace(StoreId::node(node), wrap(seen(job.node_store(node))));
      outcome.status = rebuild(plan, {all, *survey, snapshot, common_mark(all)}, writable);
    }
    return outcome;
  }

  // All that the audit does not find good of a version.
  [[nodiscard]] std::vector<std::string> bad_files(std::uint32_t version) {
    AuditOptions options;
    options.version = Version{version};
    options.patience = {};
    const auto audit = audit_stores(stores(), options);
    EXPECT_TRUE(audit) << audit.error().text();
    std::vector<std::string> bad;
    for (const SnapshotAudit& one : audit->snapshots) {
      EXPECT_TRUE(one.recovery.possible) << one.recovery.why_not;
      for (const Finding& finding : one.findings) {
        if (finding.state != Finding::State::good) bad.push_back(finding.where + ": " + finding.what);
      }
    }
    return bad;
  }

  [[nodiscard]] DirName dir(std::uint32_t version) {
    const auto views = view_snapshots(*take_survey(stores()));
    const auto is_it = [&](const SnapshotView& view) { return view.identity.version.value == version; };
    return names::snapshot(std::ranges::find_if(views, is_it)->identity);
  }
  // Files of a version in a node's store.
  [[nodiscard]] std::vector<FileName> files_of(std::uint32_t node, std::uint32_t version) {
    const DirName in = dir(version);
    std::vector<FileName> files;
    const auto entries = job.node_store(node).list(in);
    for (const Entry& entry : *entries) files.push_back({in.path + "/" + entry.name});
    return files;
  }

  Job job;
  Sealer sealer;
  Job::Image whole;
};

TEST_F(Rebuilds, have_nothing_to_do_where_all_is_good) {
  for (const std::uint32_t version : {10U, 9U, 8U, 7U, 6U, 3U}) {
    const Outcome outcome = rebuild_version(version);
    EXPECT_THAT(outcome.status, Succeeds());
    EXPECT_EQ(outcome.files, 0U);
    EXPECT_THAT(outcome.left, IsEmpty());
  }
  EXPECT_EQ(job.image().nodes, whole.nodes);
}

// Each file of each node's store, missing and damaged: then all is as before, byte by byte.
TEST_F(Rebuilds, bring_back_each_file_that_is_missing_or_damaged) {
  for (const std::uint32_t version : {9U, 8U}) {
    for (std::uint32_t node = 0; node < job.nodes(); ++node) {
      for (const FileName& file : files_of(node, version)) {
        for (const bool missing : {true, false}) {
          SCOPED_TRACE(file.path + " on node " + std::to_string(node) + (missing ? " missing" : " damaged"));
          job.put_back(whole);
          MemoryStore& store = job.node_store(node);
          const bool is_manifest = file.path.ends_with("manifest.json");
          ASSERT_THAT(missing ? store.remove(file) : store.corrupt(file, is_manifest ? 300 : 4200), Succeeds());
          ASSERT_THAT(bad_files(version), testing::Not(IsEmpty()));
          const Outcome outcome = rebuild_version(version);
          ASSERT_THAT(outcome.status, Succeeds());
          EXPECT_THAT(outcome.left, IsEmpty());
          ASSERT_THAT(bad_files(version), IsEmpty());
          EXPECT_EQ(job.image().nodes, whole.nodes);
        }
      }
    }
  }
}

// An empty store stands for the lost node: it gets the same bytes as that of the lost one had.
TEST_F(Rebuilds, fill_the_empty_store_of_a_lost_node) {
  for (std::uint32_t node = 0; node < job.nodes(); ++node) {
    for (const bool global : {true, false}) {
      SCOPED_TRACE(node);
      job.put_back(whole);
      job.lose(node);
      if (!global) job.lose_global_snapshots();
      for (const std::uint32_t version : {9U, 8U}) {
        const Outcome outcome = rebuild_version(version);
        ASSERT_THAT(outcome.status, Succeeds());
        EXPECT_THAT(outcome.left, IsEmpty());
        EXPECT_THAT(bad_files(version), IsEmpty());
      }
      EXPECT_THAT(rebuild_version(10).left, ElementsAre(NotRebuilt::Why::no_source));
      job.lose((node + 1) % job.nodes());
      job.lose_global_snapshots();
      expect_restore(job, 9);
    }
  }
}

// From L4 alone: no manifest says which levels the node stores had, so nothing is made there.
TEST_F(Rebuilds, make_nothing_where_no_node_store_has_the_snapshot) {
  for (std::uint32_t node = 0; node < job.nodes(); ++node) job.lose(node);
  const Outcome outcome = rebuild_version(9);
  EXPECT_THAT(outcome.status, Succeeds());
  EXPECT_EQ(outcome.files, 0U);
  EXPECT_THAT(outcome.left, IsEmpty());
}

class SealedRebuilds : public Rebuilds {
 protected:
  SealedRebuilds() : Rebuilds(key.setting()) { sealer = *make_sealer(key.path(), "job"); }
  static inline const KeyFile key{"rebuild"};
};

TEST_F(SealedRebuilds, have_the_digests_and_seals_of_the_job) {
  for (const std::uint32_t version : {9U, 8U}) {
    job.put_back(whole);
    job.lose(2);
    if (version == 9) {
      ASSERT_THAT(job.node_store(0).corrupt(names::shard(dir(9), Rank{0}), 4200), Succeeds());
    }
    EXPECT_THAT(rebuild_version(version).status, Succeeds());
    EXPECT_THAT(bad_files(version), IsEmpty());
    if (version == 8) continue;
    job.lose_global_snapshots();
    expect_restore(job, 9);
  }
}

TEST_F(Rebuilds, complete_a_level_that_some_nodes_have) {
  const DirName at = dir(9);
  MemoryStore& store = job.node_store(1);
  auto manifest = *read_node_manifest(store, at, {});
  manifest.holdings.front().partner.reset();
  for (const FileName& file : files_of(1, 9)) {
    if (file.path.find("copy") == std::string::npos) continue;
    ASSERT_THAT(store.remove(file), Succeeds());
  }
  ASSERT_TRUE(write_manifest(store, manifest, stores().sealer_at(StoreId::node(1))));
  ASSERT_NE(job.image().nodes, whole.nodes);
  EXPECT_THAT(rebuild_version(9).status, Succeeds());
  EXPECT_EQ(job.image().nodes, whole.nodes);
}

TEST_F(Rebuilds, fill_several_empty_stores) {
  job.lose(0);
  job.lose(1);
  const Outcome outcome = rebuild_version(9);
  EXPECT_THAT(outcome.status, Succeeds());
  EXPECT_THAT(outcome.left, IsEmpty());
  EXPECT_THAT(bad_files(9), IsEmpty());
  EXPECT_THAT(rebuild_version(8).left, ElementsAre(NotRebuilt::Why::no_source));
  job.lose_global_snapshots();
  expect_restore(job, 9);
}

// Nothing shows which is which.
TEST_F(Rebuilds, name_nodes_whose_damaged_stores_cannot_be_told_apart) {
  job.lose(0);
  const auto entries = job.node_store(1).list(DirName{});
  for (const names::SnapshotDir& found : names::snapshots_in(*entries))
    ASSERT_THAT(job.node_store(1).corrupt(names::manifest(names::directory_of(found)), 300), Succeeds());
  EXPECT_THAT(rebuild_version(9).left, ElementsAre(NotRebuilt::Why::which_store));
}

TEST_F(Rebuilds, name_nodes_without_a_store) {
  JobStores two = stores();
  two.nodes.pop_back();
  AuditOptions options;
  options.version = Version{9};
  options.patience = {};
  const auto audit = audit_stores(two, options);
  const RebuildPlan plan = plan_rebuild(two, *take_survey(two), audit->snapshots.front());
  ASSERT_EQ(plan.left.size(), 1U);
  EXPECT_EQ(plan.left.front().why, NotRebuilt::Why::no_store);
  EXPECT_THAT(plan.left.front().nodes, ElementsAre(NodeId{2}));
  EXPECT_THAT(plan.parts, IsEmpty());
}

TEST_F(Rebuilds, leave_files_that_cannot_be_judged) {
  const FileName manifest = names::manifest(dir(9));
  MemoryStore& store = job.node_store(1);
  std::string text = *read_text(store, manifest, kMiB);
  const auto at = text.find("\"format\": ");
  ASSERT_NE(at, std::string::npos) << text;
  text.replace(at, text.find(',', at) - at, "\"format\": 99");
  ASSERT_THAT(write_text(store, manifest, sealed_again(text)), Succeeds());
  ASSERT_THAT(job.node_store(0).corrupt(names::shard(dir(9), Rank{0}), 4200), Succeeds());
  const Job::Image before = job.image();
  EXPECT_THAT(rebuild_version(9).left, ElementsAre(NotRebuilt::Why::cannot_judge));
  EXPECT_EQ(job.image().nodes, before.nodes);
}

TEST_F(Rebuilds, name_damage_in_the_global_store) {
  const FileName file = names::node_file(dir(9), NodeId{1});
  ASSERT_THAT(job.global_store().corrupt(file, 3000), Succeeds());
  const Outcome outcome = rebuild_version(9);
  EXPECT_THAT(outcome.status, Succeeds());
  EXPECT_THAT(outcome.left, ElementsAre(NotRebuilt::Why::in_shared_store));
}

// A lost node and a damaged shard of another. At each operation: what is listed can be restored, as before, and a
// second try completes the rest.
TEST_F(Rebuilds, that_crash_at_any_store_operation_can_be_made_again) {
  for (const std::uint32_t version : {9U, 8U}) {
    job.put_back(whole);
    job.lose(1);
    if (version == 9) {
      ASSERT_THAT(job.node_store(0).corrupt(names::shard(dir(9), Rank{0}), 4200), Succeeds());
    }
    const Job::Image before = job.image();
    bool crashed = true;
    std::uint64_t n = 0;
    for (; crashed && !HasFailure(); ++n) {
      SCOPED_TRACE("version " + std::to_string(version) + ", crash at operation " + std::to_string(n));
      ASSERT_LT(n, 1000U) << "the sweep does not come to an end";
      job.put_back(before);
      const auto faults = std::make_shared<FaultPlan>();
      faults->crash_at(n);
      crashed = !rebuild_version(version, [&](std::shared_ptr<Store> store) {
                   return std::make_shared<FaultyStore>(store, faults);
                 }).status;
      EXPECT_EQ(crashed, faults->has_failed());
      const Job::Image left = job.image();
      expect_restore(job, 9);
      job.put_back(left);
      (void)bad_files(version);  // all ranks have a source
      ASSERT_THAT(rebuild_version(version).status, Succeeds());
      EXPECT_THAT(bad_files(version), IsEmpty());
    }
    EXPECT_GT(n, 5U);
  }
}

TEST_F(Rebuilds, name_the_file_when_a_store_is_full) {
  job.lose(1);
  const auto faults = std::make_shared<FaultPlan>();
  faults->inject_code(Code::no_space);
  faults->crash_at(6);
  const Outcome outcome =
      rebuild_version(9, [&](std::shared_ptr<Store> store) { return std::make_shared<FaultyStore>(store, faults); });
  EXPECT_THAT(outcome.status, Fails(Code::no_space, {"v00000009"}));
}

}  // namespace
}  // namespace cairn::test
