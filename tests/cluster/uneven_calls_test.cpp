// Ranks that do not make the same calls, or of which one alone gives up: no snapshot is made of two safe points, nobody
// waits for ever, and the numbers of all come together again.
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/facts.hpp"
#include "support/hooked_store.hpp"
#include "support/job.hpp"
#include "support/steps.hpp"

namespace cairn::test {
namespace {

// In the way of node 0's head, at its first manifest.
class Gate {
 public:
  Status pass(const HookedStore::Operation& operation) {
    if (operation.kind == HookedStore::Operation::Kind::create && operation.path.ends_with("manifest.json")) wait();
    return {};
  }
  void wait() {
    std::unique_lock lock(mutex_);
    opened_.wait(lock, [this] { return open_; });
  }
  void open() {
    const std::scoped_lock lock(mutex_);
    open_ = true;
    opened_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable opened_;
  bool open_ = false;
};

class OnStorageError : public testing::TestWithParam<const char*> {};

INSTANTIATE_TEST_SUITE_P(all, OnStorageError, testing::Values("throw", "continue"),
                         [](const auto& info) { return std::string(info.param); });

// Three snapshots fit, so rank 0 waits for its head with the fourth one, and the others come when the head goes on.
TEST_P(OnStorageError, a_wait_limit_on_one_rank_only_abandons_its_version_and_the_next_snapshot_is_good) {
  Gate gate;
  Job job({3, 2}, std::string("[job]\non_storage_error = ") + GetParam() +
                      "\n[storage]\nkeep_local = 1\n[levels]\nl1 = every 1\nl2 = off\nl3 = off\nl4 = off\n"
                      "[head]\nwait_limit = 2s\n[restart]\nat_end = continue\n");
  job.clock = real_time;
  job.wrap_node = [&](std::uint32_t node, std::shared_ptr<Store> store) -> std::shared_ptr<Store> {
    if (node != 0) return store;
    return std::make_shared<HookedStore>(store, [&](const auto& operation) { return gate.pass(operation); });
  };
  job.run_well_and_die([&](JobSession& session) {
    Steps steps(session);
    steps.restore();
    steps.advance_by(3);
    if (session.rank() != 0) gate.wait();
    const Thrown told = thrown_by([&] { steps.advance(); },
                                  [&] {
                                    if (session.rank() == 0) gate.open();
                                  },
                                  [&] { session.wait(LevelId::local); });
    if (session.rank() == 0) {
      EXPECT_THAT(told, Fails(ErrorKind::storage, {"rank 0", "2 s"}));
    } else {
      EXPECT_THAT(told, Fails(ErrorKind::storage, {"version 4"}));
    }
    EXPECT_EQ(steps.advance(), 5U) << "rank " << session.rank();
    session.wait(LevelId::local);
    EXPECT_EQ(session.safe_version(LevelId::local), 5U);
  });
  job.run([](JobSession& session) { EXPECT_EQ(Steps(session).restore(), 5U) << "rank " << session.rank(); });
}

// Rank `who`, which may share its node with others or be alone there, makes a call more than the rest.
void seal_at_different_safe_points(std::uint32_t who) {
  Job job({3, 2, 2}, "[levels]\nl1 = every 100\nl2 = off\nl3 = off\nl4 = off\n[restart]\nat_end = continue\n");
  job.run_well_and_die([&](JobSession& session) {
    Steps steps(session);
    steps.restore();
    if (session.rank() == who) steps.advance();
    const Thrown told = thrown_by([&] { steps.advance_to(LevelId::local); }, [&] { session.wait(LevelId::local); });
    EXPECT_THAT(told, Fails(ErrorKind::usage, {"version 1"})) << "rank " << session.rank();
    if (session.rank() == 0) {
      EXPECT_THAT(told, Fails(ErrorKind::usage, {"version 1", "calls 1", "2", "snapshot()"}));
    }
    EXPECT_EQ(session.safe_version(LevelId::local), 0U);
    EXPECT_THAT(thrown_by([&] { session.finalize(); }),
                Fails(ErrorKind::usage, {fmt::format("rank {}", who), "snapshot()", "2"}));
  });
  for (std::uint32_t node = 0; node < job.nodes(); ++node)
    EXPECT_THAT(contents_of(job.node_store(node)).versions, testing::IsEmpty()) << "node " << node;
}

TEST(UnevenCalls, seal_nothing_when_ranks_of_a_node_are_at_different_safe_points) { seal_at_different_safe_points(1); }
TEST(UnevenCalls, seal_nothing_when_nodes_are_at_different_safe_points) { seal_at_different_safe_points(3); }

// Every head mode, and a rank that shares its node with others or is alone there.
class LeftOut : public testing::TestWithParam<std::tuple<const char*, std::uint32_t>> {
 protected:
  [[nodiscard]] static std::string settings() {
    return fmt::format("[head]\nmode = {}\n[levels]\nl1 = every 1\nl2 = off\nl3 = off\nl4 = off\n",
                       std::get<0>(GetParam()));
  }
  // Two snapshots of all ranks, and one that one rank leaves out.
  static void leave_out_the_third(JobSession& session) {
    Steps steps(session);
    steps.restore();
    steps.advance_by(2);
    if (session.rank() == who()) {
      steps.compute();
    } else {
      (void)thrown_by([&] { steps.advance(); });
    }
  }
  [[nodiscard]] static std::uint32_t who() { return std::get<1>(GetParam()); }
  // Ranks 0 and 1 (or more, where a head computes) on node 0, the last one alone, or nearly, on node 2.
  Job job{{3, 2, 2}, settings()};
};

INSTANTIATE_TEST_SUITE_P(modes, LeftOut,
                         testing::Combine(testing::Values("rank", "thread", "inline"), testing::Values(0U, 1U, 3U)),
                         [](const auto& info) {
                           return fmt::format("{}_{}", std::get<0>(info.param), std::get<1>(info.param));
                         });

TEST_P(LeftOut, snapshot_makes_finalize_name_the_version_and_the_rank) {
  job.run_well_and_die([](JobSession& session) {
    leave_out_the_third(session);
    EXPECT_THAT(thrown_by([&] { session.finalize(); }),
                Fails(ErrorKind::usage, {"version 3", fmt::format("rank {}", who())}));
  });
  job.run([](JobSession& session) { EXPECT_EQ(Steps(session).restore(), 2U); });
}

TEST_P(LeftOut, snapshot_does_not_keep_restore_from_bringing_all_together_again) {
  job.run([](JobSession& session) {
    leave_out_the_third(session);
    Steps steps(session);
    EXPECT_EQ(steps.restore(), 2U);
    // The first call tells of version 3, unless the call that took it did.
    (void)thrown_by([&] { steps.advance(); });
    session.wait(LevelId::local);
    EXPECT_EQ(session.safe_version(LevelId::local), 4U);
  });
}

// The ranks agree on time now and then inside snapshot(): more of them left out than such an agreement takes.
TEST_P(LeftOut, snapshots_before_the_end_do_not_keep_the_others_in_theirs) {
  job.run_well_and_die([](JobSession& session) {
    Steps steps(session);
    steps.restore();
    steps.advance_by(2);
    Thrown told;
    for (int i = 0; i < 20 && session.rank() != who(); ++i)
      std::ranges::copy(thrown_by([&] { steps.advance(); }), std::back_inserter(told));
    if (session.rank() != who()) {
      EXPECT_THAT(told, Fails(ErrorKind::usage, {fmt::format("rank {}", who()), "finalize()"}));
    }
    EXPECT_THAT(thrown_by([&] { session.finalize(); }), Fails(ErrorKind::usage, {fmt::format("rank {}", who()), "2"}));
  });
  job.run([](JobSession& session) { EXPECT_EQ(Steps(session).restore(), 2U); });
}

TEST_P(LeftOut, snapshots_before_a_restore_do_not_keep_the_others_in_theirs) {
  job.run([](JobSession& session) {
    Steps steps(session);
    steps.restore();
    steps.advance_by(2);
    for (int i = 0; i < 20 && session.rank() != who(); ++i) (void)thrown_by([&] { steps.advance(); });
    EXPECT_EQ(steps.restore(), 2U);
    for (int i = 0; i < 20; ++i) (void)thrown_by([&] { steps.advance(); });
    session.wait(LevelId::local);
  });
}

TEST_P(LeftOut, restore_is_an_error_for_those_who_called_it_and_all_can_end) {
  job.run_well_and_die([](JobSession& session) {
    Steps steps(session);
    steps.restore();
    steps.advance_by(2);
    if (session.rank() != who()) {
      EXPECT_THAT(thrown_by([&] { steps.restore(); }), Fails(ErrorKind::usage, {"restore()", "finalize()"}));
    }
    EXPECT_THAT(thrown_by([&] { session.finalize(); }), testing::IsEmpty());
  });
  job.run([](JobSession& session) { EXPECT_EQ(Steps(session).restore(), 2U); });
}

}  // namespace
}  // namespace cairn::test
