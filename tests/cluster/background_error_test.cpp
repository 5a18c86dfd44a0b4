// What goes wrong in the background is told once, by the next call or by finalize, and never lost.
#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/facts.hpp"
#include "support/hooked_store.hpp"
#include "support/job.hpp"
#include "support/steps.hpp"

namespace cairn::test {
namespace {

constexpr const char* kPartners = R"([job]
on_storage_error = throw
[levels]
l1 = every 1
l2 = every 2
l3 = off
l4 = off
[restart]
at_end = continue
)";

// Node 0's store refuses the copies of version 2.
void refuse_copies_of_version_2(Job& job) {
  job.wrap_node = [](std::uint32_t node, std::shared_ptr<Store> store) -> std::shared_ptr<Store> {
    if (node != 0) return store;
    return std::make_shared<HookedStore>(store, [](const HookedStore::Operation& operation) -> Status {
      if (operation.path.starts_with("v00000002") && operation.path.ends_with(".copy"))
        return fail(Code::io, operation.path + ": the disk is on fire");
      return {};
    });
  };
}

TEST(BackgroundError, is_told_exactly_once_on_every_rank) {
  Job job({3, 3, 3}, kPartners);
  refuse_copies_of_version_2(job);
  job.run_and_die([](JobSession& session) {
    Steps steps(session);
    steps.restore();
    Thrown told;
    const auto call = [&](auto operation) { std::ranges::copy(thrown_by(operation), std::back_inserter(told)); };
    for (int i = 0; i < 7; ++i) call([&] { steps.advance(); });
    call([&] { session.wait(LevelId::local); });
    call([&] { session.finalize(); });
    EXPECT_THAT(told, ElementsAre(Fails(ErrorKind::storage, {"version 2", "L2", "on fire"})));
  });
  EXPECT_TRUE(job.errors().empty()) << job.errors().begin()->second;
}

TEST(BackgroundError, is_told_by_finalize_when_no_other_call_came_since) {
  Job job({3, 3, 3}, kPartners);
  refuse_copies_of_version_2(job);
  job.run_and_die([](JobSession& session) {
    Steps steps(session);
    steps.restore();
    steps.advance();
    const Thrown told = thrown_by([&] { steps.advance(); }, [&] { session.finalize(); });
    EXPECT_THAT(told, Fails(ErrorKind::storage, {"version 2", "L2"}));
  });
  EXPECT_TRUE(job.errors().empty()) << job.errors().begin()->second;
}

TEST(BackgroundError, does_not_undo_what_the_call_that_tells_it_did) {
  Job job({3, 3, 3}, kPartners);
  refuse_copies_of_version_2(job);
  job.run_and_die([](JobSession& session) {
    Steps steps(session);
    steps.restore();
    for (int i = 0; i < 6; ++i) (void)thrown_by([&] { steps.advance(); });
    (void)thrown_by([&] { session.wait(LevelId::local); });
    EXPECT_EQ(session.safe_version(LevelId::local), 6U);
    (void)thrown_by([&] { session.finalize(); });
  });
  EXPECT_TRUE(job.errors().empty()) << job.errors().begin()->second;
  job.run([](JobSession& session) { EXPECT_EQ(Steps(session).restore(), 6U); });
}

TEST(BackgroundError, makes_wait_throw_for_the_level_that_was_not_reached_and_for_no_other) {
  Job job({3, 3, 3}, kPartners);
  refuse_copies_of_version_2(job);
  job.run([](JobSession& session) {
    Steps steps(session);
    steps.restore();
    steps.advance();
    const Thrown at_once = thrown_by([&] { steps.advance(); });
    EXPECT_THAT(thrown_by([&] { session.wait(LevelId::partner); }), Fails(ErrorKind::storage, {"version 2", "L2"}));
    EXPECT_THAT(thrown_by([&] { session.wait(LevelId::local); }), testing::IsEmpty());
    EXPECT_EQ(session.safe_version(LevelId::local), 2U);
    EXPECT_EQ(session.safe_version(LevelId::partner), 0U);
    EXPECT_THAT(thrown_by([&] { steps.advance_by(2); }), testing::IsEmpty());
    EXPECT_THAT(thrown_by([&] { session.wait(LevelId::partner); }), testing::IsEmpty());
    EXPECT_EQ(session.safe_version(LevelId::partner), 4U);
  });
}

// One rank, which may share its node with the others or be alone there, asks for another level than the rest.
void ask_for_different_levels(std::uint32_t who) {
  Job job({3, 2, 2}, kPartners);
  job.run_and_die([&](JobSession& session) {
    Steps steps(session);
    steps.restore();
    const LevelId level = session.rank() == who ? LevelId::partner : LevelId::local;
    const Thrown told =
        thrown_by([&] { steps.advance_to(level); }, [&] { session.wait(LevelId::local); }, [&] { session.finalize(); });
    EXPECT_THAT(told, Fails(ErrorKind::usage, {"version 1"})) << "rank " << session.rank();
    if (session.rank() < 2) {
      EXPECT_THAT(told, Fails(ErrorKind::usage, {"version 1", "L1", "L2"}));
    }
  });
  EXPECT_TRUE(job.errors().empty()) << job.errors().begin()->second;
}

TEST(BackgroundError, says_so_when_ranks_of_a_node_ask_for_different_levels) { ask_for_different_levels(1); }
TEST(BackgroundError, says_so_when_ranks_of_different_nodes_ask_for_different_levels) { ask_for_different_levels(3); }

}  // namespace
}  // namespace cairn::test
