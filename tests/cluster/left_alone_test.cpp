// A session that has nothing of its own to end, since its restore failed or never began, or that a rank has dropped:
// finalize leaves stores and chain as they are, for a start that can do better.
#include <atomic>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/facts.hpp"
#include "support/job.hpp"
#include "support/steps.hpp"

namespace cairn::test {
namespace {

using LeftKind = CompletionMark::Kind;

constexpr const char* kFinished =
    "[levels]\nl1 = every 1\nl2 = off\nl3 = off\nl4 = off\n[restart]\nat_end = finished\n";
constexpr const char* kContinue =
    "[levels]\nl1 = every 1\nl2 = off\nl3 = off\nl4 = off\n[restart]\nat_end = continue\n";

// Whatever [restart] at_end says, a job of three nodes that took three snapshots and was killed, and the marks that it
// leaves from then on.
class LeftAlone : public testing::TestWithParam<const char*> {
 protected:
  LeftAlone() {
    job.run_well_and_die([](JobSession& session) {
      Steps steps(session);
      steps.restore();
      steps.advance_by(3);
      session.wait(LevelId::local);
    });
    before = job.image();
    job.leave_mark = [this](const Config& /*config*/, const CompletionMark& mark) {
      const std::scoped_lock lock(mutex_);
      last_mark = mark;
    };
  }

  // Snapshots are where they were; a run record more, which says nothing, is all that is new.
  void expect_all_as_it_was() {
    for (std::uint32_t node = 0; node < job.nodes(); ++node)
      EXPECT_EQ(job.image().nodes.at(node), before.nodes.at(node)) << "node " << node;
    EXPECT_THAT(contents_of(job.global_store()).versions, testing::IsEmpty());
  }

  void expect_that_the_next_start_goes_on() {
    job.run([](JobSession& session) { EXPECT_EQ(Steps(session).restore(), 3U); });
    EXPECT_EQ(last_mark.kind, LeftKind::finished);
  }

  Job job{{2, 3, 2}, GetParam()};
  Job::Image before;
  CompletionMark last_mark;

 private:
  std::mutex mutex_;
};

INSTANTIATE_TEST_SUITE_P(at_end, LeftAlone, testing::Values(kFinished, kContinue), [](const auto& info) {
  return std::string(info.param == std::string(kFinished) ? "finished" : "continue");
});

// Protects "step" under another name, where `mistyped` says so.
Thrown restore_mistyped(JobSession& session, bool mistyped) {
  std::vector<double> state;
  std::uint32_t step = 0;
  session.protect("state", state);
  session.protect(mistyped ? "stepp" : "step", step);
  return thrown_by([&] { session.restore(); });
}

TEST_P(LeftAlone, after_a_mismatch_on_every_rank) {
  job.run_well_and_die([](JobSession& session) {
    EXPECT_THAT(restore_mistyped(session, true), Fails(ErrorKind::mismatch, {"step", "stepp"}));
    EXPECT_THAT(thrown_by([&] { session.finalize(); }), testing::IsEmpty());
  });
  EXPECT_EQ(last_mark.kind, LeftKind::failed);
  EXPECT_THAT(last_mark.text, Names({"step", "stepp"}));
  expect_all_as_it_was();
  expect_that_the_next_start_goes_on();
}

TEST_P(LeftAlone, after_a_mismatch_on_one_rank_only) {
  job.run([](JobSession& session) {
    EXPECT_THAT(restore_mistyped(session, session.rank() == 1), Fails(ErrorKind::mismatch, {"stepp"}))
        << "rank " << session.rank();
  });
  EXPECT_EQ(last_mark.kind, LeftKind::failed);
  expect_all_as_it_was();
  expect_that_the_next_start_goes_on();
}

TEST_P(LeftAlone, while_a_node_is_away) {
  const auto empty = std::make_shared<MemoryStore>(MemoryStore::kUnbounded, "an empty store");
  job.wrap_node = [empty](std::uint32_t node, std::shared_ptr<Store> store) -> std::shared_ptr<Store> {
    return node == 1 ? empty : store;
  };
  job.run([](JobSession& session) {
    Steps steps(session);
    EXPECT_THAT(thrown_by([&] { steps.restore(); }), Fails(ErrorKind::unrecoverable, {"version 3", "node 1"}));
  });
  EXPECT_EQ(last_mark.kind, LeftKind::failed);
  expect_all_as_it_was();
  job.wrap_node = {};
  expect_that_the_next_start_goes_on();
}

TEST_P(LeftAlone, after_one_region_could_not_be_restored) {
  job.run([](JobSession& session) {
    std::vector<float> state;
    session.protect("state", state);
    EXPECT_THAT(thrown_by([&] { session.restore("state"); }), Fails(ErrorKind::mismatch, {"state"}));
  });
  EXPECT_EQ(last_mark.kind, LeftKind::failed);
  expect_all_as_it_was();
  expect_that_the_next_start_goes_on();
}

TEST_P(LeftAlone, where_neither_restore_nor_snapshot_was_called) {
  job.run([](JobSession&) {});
  EXPECT_EQ(last_mark.kind, LeftKind::finished);
  expect_all_as_it_was();
  expect_that_the_next_start_goes_on();
}

TEST_P(LeftAlone, not_after_a_mismatch_that_was_corrected) {
  job.run([](JobSession& session) {
    EXPECT_THAT(restore_mistyped(session, true), Fails(ErrorKind::mismatch, {"stepp"}));
    session.unprotect("stepp");
    EXPECT_EQ(Steps(session).restore(), 3U);
  });
  EXPECT_EQ(last_mark.kind, LeftKind::finished);
  EXPECT_THAT(contents_of(job.global_store()).versions, testing::ElementsAre(3));
}

// The other ranks come to their end, and what they hear is that the chain did not.
TEST_P(LeftAlone, where_one_rank_has_dropped_its_session) {
  std::atomic<bool> dropped{false};
  job.run_well_and_die([&](JobSession& session) {
    Steps steps(session);
    EXPECT_EQ(steps.restore(), 3U);
    const std::uint32_t me = session.rank();
    if (me == 1) {
      const JobSession gone(std::move(session));
      dropped = true;
      return;
    }
    EXPECT_THAT(thrown_by([&] { session.finalize(); }), Fails(ErrorKind::storage, {"node 1", "finalize"}))
        << "rank " << me;
  });
  EXPECT_TRUE(dropped);
  EXPECT_EQ(last_mark.kind, LeftKind::failed);
  EXPECT_THAT(contents_of(job.global_store()).versions, testing::IsEmpty());
  expect_that_the_next_start_goes_on();
}

// Where a rank is its node's head besides, nothing goes on without it: it does not wait for those who compute, and they
// do not wait for it.
class Dropped : public testing::TestWithParam<const char*> {};

INSTANTIATE_TEST_SUITE_P(modes, Dropped, testing::Values("thread", "inline"),
                         [](const auto& info) { return std::string(info.param); });

TEST_P(Dropped, session_of_a_rank_that_is_a_head_returns_at_once_and_is_told_to_all) {
  Job job({2, 2, 2}, std::string(kContinue) + "[head]\nmode = " + GetParam() + "\n");
  std::atomic<std::uint32_t> safe{0};
  std::atomic<bool> dropped{false};
  job.run_well_and_die([&](JobSession& session) {
    Steps steps(session);
    steps.restore();
    steps.advance_by(2);
    session.wait(LevelId::local);
    const std::uint32_t me = session.rank();
    ++safe;
    if (me == 2) {
      while (safe < session.size()) std::this_thread::yield();
      { const JobSession gone(std::move(session)); }
      dropped = true;
      dropped.notify_all();
      return;
    }
    dropped.wait(false);
    EXPECT_THAT(thrown_by([&] { steps.advance(); }, [&] { session.wait(LevelId::local); }),
                Fails(ErrorKind::communication, {"rank 2", "node 1"}))
        << "rank " << me;
    EXPECT_THAT(thrown_by([&] { session.finalize(); }), Fails(ErrorKind::communication, {"rank 2", "node 1"}))
        << "rank " << me;
  });
  job.run([](JobSession& session) { EXPECT_EQ(Steps(session).restore(), 2U); });
}

}  // namespace
}  // namespace cairn::test
