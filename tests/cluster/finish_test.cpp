// How a run begins and ends: at_end, mode, other runs of the same job, and who acts as head.
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/names.hpp"
#include "store/store.hpp"
#include "support/facts.hpp"
#include "support/hooked_store.hpp"
#include "support/job.hpp"
#include "support/key_file.hpp"
#include "support/steps.hpp"

namespace cairn::test {
namespace {

constexpr const char* kLevels = "[levels]\nl1 = every 1\nl2 = every 2\nl3 = off\nl4 = every 4\n";
const std::string kAtEndFinished = std::string(kLevels) + "[restart]\nat_end = finished\n";
const std::string kAtEndContinue = std::string(kLevels) + "[restart]\nat_end = continue\n";
const std::string kRequired = kAtEndContinue + "mode = required\n";
const std::string kFresh = kAtEndContinue + "mode = fresh\n";

// Restores, which must give `from`, and takes `count` steps.
void go(Job& job, std::uint32_t from, std::uint32_t count) {
  job.run([&](JobSession& session) {
    Steps steps(session);
    EXPECT_EQ(steps.restore(), from);
    EXPECT_EQ(session.last_restore().restored, from > 0);
    steps.advance_by(count);
  });
}

TEST(AtEnd, finished_leaves_the_newest_at_L4_and_empty_node_stores_and_the_next_start_is_fresh) {
  Job job({2, 2, 2}, kAtEndFinished);
  go(job, 0, 5);
  EXPECT_THAT(contents_of(job.global_store()).versions, testing::ElementsAre(5));
  for (std::uint32_t node = 0; node < job.nodes(); ++node) {
    EXPECT_THAT(contents_of(job.node_store(node)).versions, testing::IsEmpty()) << "node " << node;
    EXPECT_EQ(job.node_store(node).free_bytes().value(), MemoryStore::kUnbounded) << "node " << node;
  }
  go(job, 0, 2);
  go(job, 0, 1);
}

TEST(AtEnd, finished_is_told_at_the_next_start) {
  Job job({2, 2}, kAtEndFinished);
  go(job, 0, 1);
  job.log_level = "info";
  testing::internal::CaptureStderr();
  go(job, 0, 1);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), Names({"finished"}));
}

TEST(AtEnd, what_a_new_job_is_refused_is_refused_after_a_finished_one_too) {
  for (const std::string& at_end : {kAtEndFinished, kAtEndContinue}) {
    Job job({2, 3}, at_end);
    go(job, 0, 1);
    job.reshape({4});
    if (at_end == kAtEndContinue) {
      go(job, 1, 1);  // rather without L2 than not at all
      continue;
    }
    EXPECT_THAT(thrown_by([&] { go(job, 0, 1); }), Fails(ErrorKind::config, {"L2", "2 nodes", "[levels] l2"}));
  }
}

TEST(AtEnd, continue_leaves_the_newest_at_L4_and_the_next_start_goes_on) {
  Job job({2, 2, 2}, kAtEndContinue);
  go(job, 0, 5);
  EXPECT_THAT(contents_of(job.global_store()).versions, testing::ElementsAre(5));
  go(job, 5, 1);
  for (std::uint32_t node = 0; node < job.nodes(); ++node) job.lose(node);
  go(job, 6, 1);
}

TEST(AtEnd, without_finalize_the_chain_goes_on) {
  Job job({2, 2, 2}, kAtEndFinished);
  job.run_and_die([](JobSession& session) {
    Steps steps(session);
    steps.restore();
    steps.advance_by(3);
    session.wait(LevelId::local);
  });
  go(job, 3, 0);
  go(job, 0, 0);
}

TEST(Mode, required_refuses_to_start_without_a_snapshot) {
  Job job({2, 2}, kRequired);
  const Thrown told = thrown_by([&] { job.run([](JobSession& session) { Steps(session).restore(); }); });
  EXPECT_THAT(told, testing::SizeIs(1));
  EXPECT_THAT(job.errors(),
              testing::Contains(testing::Pair(testing::_, Fails(ErrorKind::unrecoverable, {"mode = required"}))));
}

TEST(Mode, required_goes_on_from_a_snapshot) {
  Job job({2, 2}, kAtEndContinue);
  go(job, 0, 3);
  job.configure(kRequired);
  go(job, 3, 1);
}

TEST(Mode, fresh_starts_anew_and_nothing_behind_it_is_looked_at_again) {
  Job job({2, 2}, kAtEndContinue);
  go(job, 0, 3);
  job.configure(kFresh);
  go(job, 0, 1);
  job.configure(kAtEndContinue);
  go(job, 1, 1);
}

TEST(Mode, fresh_without_a_snapshot_of_its_own_is_fresh_at_the_next_start_too) {
  Job job({2, 2}, kAtEndContinue);
  go(job, 0, 3);
  job.configure(kFresh);
  go(job, 0, 0);
  job.configure(kAtEndContinue);
  go(job, 0, 1);
  go(job, 1, 0);
}

// The killed run's snapshots lie on the nodes by a layout that is not today's, and never went to L4.
void end_afresh_on_other_nodes(const std::string& at_end) {
  const std::string local =
      "[levels]\nl1 = every 1\nl2 = off\nl3 = off\nl4 = off\n[restart]\nat_end = " + at_end + "\n";
  Job job({2, 3}, local);
  job.run_well_and_die([](JobSession& session) {
    Steps steps(session);
    steps.restore();
    steps.advance();
    session.wait(LevelId::local);
  });
  job.reshape({3, 2});
  job.configure(local + "mode = fresh\n");
  go(job, 0, 0);
  EXPECT_THAT(contents_of(job.global_store()).versions, testing::IsEmpty());
  go(job, 0, 2);
  EXPECT_THAT(contents_of(job.global_store()).versions, testing::SizeIs(1));
}

TEST(Mode, fresh_on_other_nodes_without_a_snapshot_finishes) { end_afresh_on_other_nodes("finished"); }
TEST(Mode, fresh_on_other_nodes_without_a_snapshot_may_continue) { end_afresh_on_other_nodes("continue"); }

TEST(Mode, fresh_still_lets_the_run_return_to_its_own_snapshots) {
  Job job({2, 2}, kAtEndContinue);
  go(job, 0, 3);
  job.configure(kFresh);
  job.run([](JobSession& session) {
    Steps steps(session);
    EXPECT_EQ(steps.restore(), 0U);
    steps.advance_by(2);
    session.wait(LevelId::local);
    steps.compute();
    EXPECT_EQ(steps.restore(), 2U);
  });
}

// The first restore of a life that begins fresh makes it so; those that follow, of a region each, say, find no more of
// what lies behind that than the first one did.
void restore_again_and_again(const std::string& settings) {
  Job job({2, 2, 2}, kAtEndFinished);
  go(job, 0, 3);
  job.configure(settings);
  job.run([](JobSession& session) {
    Steps steps(session);
    EXPECT_EQ(steps.restore(), 0U);
    EXPECT_FALSE(session.restore("state").restored);
    EXPECT_FALSE(session.restore("step").restored);
    EXPECT_EQ(steps.restore(), 0U);
    steps.advance();
    session.wait(LevelId::local);
    EXPECT_EQ(steps.restore(), 1U);
  });
}

TEST(Restore, after_a_chain_that_was_finished_is_fresh_however_often) { restore_again_and_again(kAtEndFinished); }
TEST(Restore, of_a_fresh_start_that_was_asked_for_is_fresh_however_often) { restore_again_and_again(kFresh); }

// What an earlier life was writing cannot be removed once a fresh start is recorded: it is one all the same, since the
// next start looks no further back.
TEST(Restore, of_a_fresh_start_that_is_recorded_does_not_fail) {
  Job job({2, 2}, kAtEndContinue);
  take_steps(job, 2);
  const DirName partial = names::partial_snapshot(Version{9}, RunId{7});
  ASSERT_TRUE(write_text(job.global_store(), FileName{partial.path + "/node0.h5"}, "half"));
  job.wrap_global = [&](std::shared_ptr<Store> store) {
    return std::make_shared<HookedStore>(store, [&](const HookedStore::Operation& operation) -> Status {
      if (operation.path != partial.path) return {};
      return fail(Code::io, operation.path + ": the global store is away");
    });
  };
  job.configure(kFresh);
  expect_restore(job, 0);
  job.wrap_global = {};
  job.configure(kAtEndContinue);
  expect_restore(job, 0);
}

// With a key no node may do without its mark. A node that cannot be given one must not leave a record behind by which
// all that was there is past.
TEST(Restore, of_a_fresh_start_that_a_node_cannot_begin_leaves_all_as_it_was) {
  const KeyFile key("a key of the test, long enough to be one");
  Job job({2, 2}, kAtEndContinue + key.setting());
  take_steps(job, 2);
  job.lose(1);
  job.wrap_node = [](std::uint32_t host, std::shared_ptr<Store> store) -> std::shared_ptr<Store> {
    return std::make_shared<HookedStore>(store, [=](const HookedStore::Operation& operation) -> Status {
      if (host == 0 || operation.path != names::chain_mark().path) return {};
      return fail(Code::io, operation.path + ": no space left");
    });
  };
  job.configure(kFresh + key.setting());
  job.run_well_and_die([](JobSession& session) {
    EXPECT_THAT(thrown_by([&] { Steps(session).restore(); }), Fails(ErrorKind::storage, {"no space left"}));
  });
  job.wrap_node = {};
  job.configure(kAtEndContinue + key.setting());
  expect_restore(job, 2);
}

TEST(Restore, within_a_run_returns_to_its_newest_safe_snapshot) {
  Job job({3, 3, 3}, kAtEndContinue);
  job.run([](JobSession& session) {
    Steps steps(session);
    steps.restore();
    steps.advance_by(3);
    session.wait(LevelId::local);
    steps.compute();
    steps.compute();
    EXPECT_EQ(steps.restore(), 3U);
    EXPECT_EQ(steps.advance(), 4U);
  });
  go(job, 4, 0);
}

// A second run of the job, on nodes of its own, over the same global store.
Thrown start_elsewhere(Job& first, const std::string& settings) {
  Job other({2, 2}, settings);
  other.wrap_global = [&](std::shared_ptr<Store>) {
    return std::shared_ptr<Store>(&first.global_store(), [](Store*) {});
  };
  return thrown_by([&] { other.run([](JobSession& session) { Steps(session).restore(); }); });
}

TEST(AnotherRun, on_the_same_global_store_takes_over_and_the_first_one_is_told) {
  Job job({2, 2}, kAtEndContinue);
  job.run_and_die([&](JobSession& session) {
    Steps steps(session);
    steps.restore();
    steps.advance();
    session.wait(LevelId::local);
    if (session.rank() == 0) {
      EXPECT_THAT(start_elsewhere(job, kFresh), testing::IsEmpty());
    }
    // The other rank waits for the first here: L1 of version 2 needs both.
    const Thrown told = thrown_by([&] { steps.advance_to(LevelId::global); }, [&] { session.wait(LevelId::global); });
    EXPECT_THAT(told, Fails(ErrorKind::taken_over, {"global store", "run-00000002"}));
    EXPECT_EQ(session.safe_version(LevelId::global), 0U);
  });
  EXPECT_TRUE(job.errors().empty()) << job.errors().begin()->second;
  EXPECT_THAT(contents_of(job.global_store()).versions, testing::IsEmpty());
}

TEST(AnotherRun, that_is_refused_itself_disturbs_nothing) {
  Job job({2, 2}, kAtEndContinue);
  job.run([&](JobSession& session) {
    Steps steps(session);
    steps.restore();
    steps.advance_by(2);
    session.wait(LevelId::local);
    if (session.rank() == 0) {
      const StoreImage before = image_of(job.global_store());
      EXPECT_THAT(start_elsewhere(job, kAtEndContinue), Fails(ErrorKind::unrecoverable, {"job"}));
      EXPECT_THAT(differences(before, image_of(job.global_store())), testing::IsEmpty());
    }
    EXPECT_THAT(thrown_by([&] { steps.advance_to(LevelId::global); }, [&] { session.wait(LevelId::global); }),
                testing::IsEmpty());
    EXPECT_EQ(session.safe_version(LevelId::global), 3U);
  });
  go(job, 3, 0);
}

// A number that cannot follow another is nobody's.
TEST(AnotherRun, of_a_number_that_was_never_given_is_no_run) {
  Job job({2, 2}, kAtEndContinue);
  go(job, 0, 2);
  const RunId stray{1};
  ASSERT_TRUE(write_text(job.global_store(), names::run_record(Incarnation{4294967295}, stray), "{}"));
  ASSERT_TRUE(write_text(job.node_store(0), names::manifest(names::snapshot(Version{4294967295}, stray)), "{}"));
  go(job, 2, 4);
  go(job, 6, 0);
}

TEST(AnotherRun, on_the_same_node_stores_is_refused_while_the_first_one_runs) {
  Job job({2, 2}, kAtEndContinue);
  job.run([&](JobSession& session) {
    Steps steps(session);
    steps.restore();
    steps.advance();
    if (session.rank() == 0) {
      Job other({2, 2}, kAtEndContinue);
      other.wrap_node = [&](std::uint32_t node, std::shared_ptr<Store>) {
        return std::shared_ptr<Store>(&job.node_store(node), [](Store*) {});
      };
      EXPECT_THAT(thrown_by([&] { other.run([](JobSession&) {}); }), Fails(ErrorKind::taken_over, {"store of node"}));
    }
    EXPECT_THAT(thrown_by([&] { steps.advance(); }), testing::IsEmpty());
  });
  go(job, 2, 0);
}

class HeadModes : public testing::TestWithParam<const char*> {};

TEST_P(HeadModes, take_snapshots_survive_a_lost_node_and_go_on) {
  const std::string head = std::string("[head]\nmode = ") + GetParam() + "\n";
  Job job({3, 2, 4}, head + kAtEndContinue);
  job.run_and_die([](JobSession& session) {
    Steps steps(session);
    EXPECT_EQ(steps.restore(), 0U);
    steps.advance_by(4);
    steps.wait_for_all();
    EXPECT_EQ(session.safe_version(LevelId::local), 4U);
    EXPECT_EQ(session.safe_version(LevelId::partner), 4U);
    EXPECT_EQ(session.safe_version(LevelId::global), 4U);
  });
  ASSERT_TRUE(job.errors().empty()) << job.errors().begin()->second;
  job.lose(2);
  go(job, 4, 3);
  go(job, 7, 1);
}

TEST_P(HeadModes, report_background_errors_and_full_stores) {
  const std::string head = std::string("[head]\nmode = ") + GetParam() + "\n";
  Job job({2, 2, 2}, head + kAtEndContinue);
  const auto tight = std::make_shared<MemoryStore>(600'000, "the tight store");
  job.wrap_node = [&](std::uint32_t node, std::shared_ptr<Store> store) -> std::shared_ptr<Store> {
    return node == 1 ? std::shared_ptr<Store>(tight) : store;
  };
  job.run_and_die([](JobSession& session) {
    Steps steps(session);
    std::vector<char> ballast;
    session.protect("ballast", ballast);
    steps.restore();
    steps.advance();
    // One byte too many for the store of node 1, whose ranks are the middle ones.
    const bool too_big = session.rank() >= session.size() / 3 && session.rank() < 2 * session.size() / 3;
    if (too_big) ballast.resize(1'000'000);
    const Thrown told = thrown_by([&] { steps.advance(); }, [&] { session.wait(LevelId::local); });
    EXPECT_THAT(told, Fails(ErrorKind::storage, {"version 2"}));
    ballast.clear();
    EXPECT_EQ(steps.advance(), 3U);
    session.wait(LevelId::local);
    session.finalize();
  });
  EXPECT_TRUE(job.errors().empty()) << job.errors().begin()->second;
  job.run([](JobSession& session) {
    Steps steps(session);
    std::vector<char> ballast(1);
    session.protect("ballast", ballast);
    EXPECT_EQ(steps.restore(), 3U);
    EXPECT_TRUE(ballast.empty());
  });
}

INSTANTIATE_TEST_SUITE_P(all, HeadModes, testing::Values("rank", "thread", "inline"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace cairn::test
