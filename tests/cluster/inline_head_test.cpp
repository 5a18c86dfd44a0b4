// [head] mode = inline: a node's first rank does the head's work inside snapshot().
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "session/session_impl.hpp"
#include "support/facts.hpp"
#include "support/hooked_store.hpp"
#include "support/job.hpp"
#include "support/steps.hpp"

namespace cairn::test {
namespace {

constexpr const char* kInlineSettings = R"([levels]
l1 = every 1
l2 = every 1
l3 = every 2
l4 = every 2
[erasure]
group = 3
parity = 1
[head]
mode = inline
)";

bool leads_its_node(const JobSession& session) { return session.rank() % 2 == 0; }

TEST(InlineHead, has_done_its_work_when_snapshot_returns) {
  Job job({2, 2, 2}, kInlineSettings);
  job.run([](JobSession& session) {
    Steps steps(session);
    steps.restore();
    for (std::uint32_t version = 1; version <= 6; ++version) {
      steps.advance();
      if (!leads_its_node(session)) continue;
      EXPECT_EQ(session.safe_version(LevelId::local), version);
      EXPECT_EQ(session.safe_version(LevelId::partner), version);
      EXPECT_EQ(session.safe_version(LevelId::erasure), version / 2 * 2);
      EXPECT_EQ(session.safe_version(LevelId::global), version / 2 * 2);
    }
  });
}

// The ranks meet after the snapshot, which all must have left by then.
TEST(InlineHead, lets_no_other_wait_when_its_own_shard_could_not_be_written) {
  Job job({2, 2, 2}, kInlineSettings);
  job.wrap_node = [](std::uint32_t node, std::shared_ptr<Store> store) -> std::shared_ptr<Store> {
    if (node != 1) return store;
    return std::make_shared<HookedStore>(store, [](const HookedStore::Operation& operation) -> Status {
      if (operation.path.starts_with("v00000002") && operation.path.ends_with("rank000002.shard"))
        return fail(Code::io, operation.path + ": the disk is on fire");
      return {};
    });
  };
  job.run_and_die([](JobSession& session) {
    Steps steps(session);
    steps.restore();
    for (int i = 0; i < 3; ++i) {
      (void)thrown_by([&] { steps.advance(); });
      EXPECT_TRUE(session.impl().ranks().barrier().has_value());
    }
    (void)thrown_by([&] { session.wait(LevelId::local); });
    EXPECT_EQ(session.safe_version(LevelId::local), 3U);
    (void)thrown_by([&] { session.finalize(); });
  });
  EXPECT_TRUE(job.errors().empty()) << job.errors().begin()->second;
}

// After a restore copies are to be made again, in which the heads wait for each other. A rank that waits in snapshot()
// for the agreement on time must not begin with that: the others may have given their part, and wait for this rank
// elsewhere.
TEST(InlineHead, begins_nothing_together_with_heads_that_may_compute) {
  Job job({1, 1, 1},
          "[head]\nmode = inline\n[levels]\nl1 = every 100\nl2 = every 100\nl3 = off\nl4 = off\n[restart]\nat_end = "
          "continue\n");
  job.run_well_and_die([](JobSession& session) {
    Steps steps(session);
    steps.restore();
    steps.advance_to(LevelId::partner);
    session.wait(LevelId::partner);
  });
  job.lose(1);
  std::atomic<bool> waits{false};
  std::atomic<bool> is_through{false};
  job.run_well_and_die([&](JobSession& session) {
    Steps steps(session);
    EXPECT_EQ(steps.restore(), 1U);
    if (session.rank() == 0) {
      steps.advance();
      waits = true;
      steps.advance();
      is_through = true;
    } else {
      while (!waits) std::this_thread::yield();
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      steps.advance();
      while (!is_through) std::this_thread::yield();
      steps.advance();
    }
  });
}

// One of them is in finalize meanwhile, where it votes that it has none of what the others seal, and helps them then.
TEST(InlineHead, makes_copies_again_with_one_that_has_left_a_snapshot_out) {
  for (const std::uint32_t who : {0U, 1U, 2U}) {
    Job job({1, 1, 1}, "[head]\nmode = inline\n[levels]\nl1 = every 1\nl2 = every 1\nl3 = off\nl4 = off\n");
    job.run_well_and_die([](JobSession& session) {
      Steps steps(session);
      steps.restore();
      steps.advance();
    });
    job.lose(1);
    job.run_well_and_die([&](JobSession& session) {
      Steps steps(session);
      EXPECT_EQ(steps.restore(), 1U);
      if (session.rank() != who) {
        EXPECT_THAT(thrown_by([&] { steps.advance(); }), Fails(ErrorKind::usage, {"version 2"}));
      }
      EXPECT_THAT(thrown_by([&] { session.finalize(); }),
                  Fails(ErrorKind::usage, {"version 2", fmt::format("rank {}", who)}));
    });
    job.lose(2);
    job.run([](JobSession& session) { EXPECT_EQ(Steps(session).restore(), 1U); });
  }
}

}  // namespace
}  // namespace cairn::test
