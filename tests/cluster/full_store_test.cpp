// A store that is full: an error that says so, a version that is given up, and a job that goes on.
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/facts.hpp"
#include "support/hooked_store.hpp"
#include "support/job.hpp"
#include "support/steps.hpp"

namespace cairn::test {
namespace {

constexpr std::uint64_t kCapacity = 400'000;
constexpr std::size_t kBallast = 1'000'000;

constexpr const char* kLocalOnly = R"([job]
on_storage_error = throw
[levels]
l1 = every 1
l2 = off
l3 = off
l4 = off
[restart]
at_end = continue
)";

// Node 1's store holds 400 000 bytes; the others' have no bound.
struct TightJob {
  Job job{{3, 3, 3}, kLocalOnly};
  std::shared_ptr<MemoryStore> tight = std::make_shared<MemoryStore>(kCapacity, "the tight store");

  TightJob() {
    job.wrap_node = [this](std::uint32_t node, std::shared_ptr<Store> store) -> std::shared_ptr<Store> {
      return node == 1 ? std::shared_ptr<Store>(tight) : store;
    };
  }
};

// A step, a second one for which rank 2, on node 1, has no room, and then `more`.
void overfill(JobSession& session, std::uint32_t more) {
  Steps steps(session);
  std::vector<char> ballast;
  session.protect("ballast", ballast);
  steps.restore();
  EXPECT_EQ(steps.advance(), 1U);
  session.wait(LevelId::local);
  if (session.rank() == 2) {
    ballast.resize(kBallast);
    EXPECT_THAT(thrown_by([&] { steps.advance(); }),
                Fails(ErrorKind::storage, {"version 2", "the tight store", "rank000002.shard", "1024000"}));
    ballast.clear();
  } else {
    // Whether the call itself, or the next one, hears of it is a matter of time.
    const Thrown told = thrown_by([&] { steps.advance(); }, [&] { session.wait(LevelId::local); });
    EXPECT_THAT(told, Fails(ErrorKind::storage, {"version 2", session.rank() == 3 ? "rank 2" : "node 1"}));
  }
  for (std::uint32_t i = 0; i < more; ++i) EXPECT_EQ(steps.advance(), 3 + i);
  if (more > 0) session.wait(LevelId::local);
}

std::string kind_of_error_when_full(JobSession& session) {
  std::vector<char> ballast(session.rank() == 2 ? kBallast : 1);
  session.protect("ballast", ballast);
  try {
    session.snapshot();
    session.wait(LevelId::local);
  } catch (const Exception& error) {
    return error.kind() == ErrorKind::storage ? "storage" : error.what();
  }
  return "none";
}

TEST(FullNodeStore, is_a_storage_error_that_names_store_and_bytes_and_the_job_goes_on) {
  TightJob tight;
  tight.job.run([](JobSession& session) { overfill(session, 2); });
  tight.job.run([](JobSession& session) {
    Steps steps(session);
    std::vector<char> ballast;
    session.protect("ballast", ballast);
    EXPECT_EQ(steps.restore(), 4U);
    EXPECT_EQ(session.last_restore().version, 4U);
  });
}

TEST(FullNodeStore, leaves_the_last_good_version_restorable) {
  TightJob tight;
  tight.job.run_and_die([](JobSession& session) { overfill(session, 0); });
  ASSERT_TRUE(tight.job.errors().empty()) << tight.job.errors().begin()->second;
  tight.job.run([](JobSession& session) {
    Steps steps(session);
    std::vector<char> ballast;
    session.protect("ballast", ballast);
    EXPECT_EQ(steps.restore(), 1U);
  });
}

TEST(FullNodeStore, is_of_the_kind_storage_on_every_rank) {
  TightJob tight;
  tight.job.run_and_die([](JobSession& session) { EXPECT_EQ(kind_of_error_when_full(session), "storage"); });
  EXPECT_TRUE(tight.job.errors().empty()) << tight.job.errors().begin()->second;
}

TEST(FullNodeStore, keeps_nothing_of_the_version_that_was_given_up) {
  TightJob tight;
  tight.job.run([](JobSession& session) { overfill(session, 1); });
  EXPECT_THAT(contents_of(*tight.tight).versions, testing::ElementsAre(1, 3));
  EXPECT_THAT(contents_of(tight.job.node_store(0)).versions, testing::ElementsAre(1, 3));
}

// Where nothing has to be brought, nothing is written.
TEST(FullNodeStore, gives_back_what_it_holds_without_any_room_left) {
  Job job({3, 3, 3}, kLocalOnly);
  job.run_well_and_die([](JobSession& session) {
    Steps steps(session);
    steps.restore();
    steps.advance_by(2);
    session.wait(LevelId::local);
  });
  job.wrap_node = [](std::uint32_t, std::shared_ptr<Store> store) {
    return std::make_shared<HookedStore>(store, [](const HookedStore::Operation& operation) -> Status {
      if (operation.kind != HookedStore::Operation::Kind::create) return {};
      return fail(Code::no_space, operation.path + ": the store is full");
    });
  };
  job.run_well_and_die([](JobSession& session) { EXPECT_EQ(Steps(session).restore(), 2U); });
}

// In the log: nothing has failed yet, so no call of the application says so.
TEST(FullNodeStore, that_cannot_hold_all_that_is_to_be_kept_says_so_at_the_first_snapshot) {
  TightJob tight;
  tight.job.log_level = "warning";
  testing::internal::CaptureStderr();
  tight.job.run_well_and_die([](JobSession& session) {
    Steps steps(session);
    std::vector<char> ballast(session.rank() == 2 ? 150'000 : 1);
    session.protect("ballast", ballast);
    steps.restore();
    steps.advance();
    session.wait(LevelId::local);
    EXPECT_EQ(session.storage_error(), "");
  });
  EXPECT_THAT(testing::internal::GetCapturedStderr(), Names({"node 1", "the tight store", "keep_local"}));
}

// No room for a partner's copies on node 2 until the test makes some.
TEST(FullNodeStore, that_has_no_room_for_copies_leaves_the_version_at_L1) {
  Job job({2, 2, 2},
          "[job]\non_storage_error = throw\n[levels]\nl1 = every 1\nl2 = every 1\nl3 = off\nl4 = "
          "off\n[restart]\nat_end = continue\n");
  job.wrap_node = [](std::uint32_t node, std::shared_ptr<Store> store) -> std::shared_ptr<Store> {
    if (node != 2) return store;
    return std::make_shared<HookedStore>(store, [](const HookedStore::Operation& operation) -> Status {
      if (operation.path.starts_with("v00000002") && operation.path.ends_with(".copy"))
        return fail(Code::no_space, operation.path + ": the store is full");
      return {};
    });
  };
  job.run([](JobSession& session) {
    Steps steps(session);
    steps.restore();
    steps.advance();
    session.wait(LevelId::partner);
    const Thrown told = thrown_by([&] { steps.advance(); }, [&] { session.wait(LevelId::partner); });
    EXPECT_THAT(told, Fails(ErrorKind::storage, {"version 2", "L2", ".copy"}));
    EXPECT_EQ(session.safe_version(LevelId::local), 2U);
    EXPECT_EQ(session.safe_version(LevelId::partner), 1U);
    EXPECT_THAT(thrown_by([&] { steps.advance(); }), testing::IsEmpty());
    EXPECT_THAT(thrown_by([&] { session.wait(LevelId::partner); }), testing::IsEmpty());
  });
  job.lose(1);
  job.run([](JobSession& session) { EXPECT_EQ(Steps(session).restore(), 3U); });
}

// The global store refuses a node's file of version 2.
void refuse_version_2(Job& job) {
  job.wrap_global = [](std::shared_ptr<Store> store) {
    return std::make_shared<HookedStore>(store, [](const HookedStore::Operation& operation) -> Status {
      if (operation.kind == HookedStore::Operation::Kind::create && operation.path.starts_with("v00000002") &&
          operation.path.ends_with("node0001.h5"))
        return fail(Code::no_space, "global store: " + operation.path + ": the store is full; 77 bytes were wanted");
      return {};
    });
  };
}

constexpr const char* kWithGlobal = R"([job]
on_storage_error = throw
[levels]
l1 = every 1
l2 = off
l3 = off
l4 = every 1
[restart]
at_end = continue
)";

TEST(FullGlobalStore, fails_the_promotion_and_leaves_the_version_at_the_lower_levels) {
  Job job({2, 2, 2}, kWithGlobal);
  refuse_version_2(job);
  job.run_and_die([&](JobSession& session) {
    Steps steps(session);
    steps.restore();
    steps.advance();
    session.wait(LevelId::global);
    const Thrown told = thrown_by([&] { steps.advance(); }, [&] { session.wait(LevelId::global); });
    EXPECT_THAT(told, Fails(ErrorKind::storage, {"version 2", "L4", "global store", "77"}));
    EXPECT_EQ(session.safe_version(LevelId::local), 2U);
    EXPECT_EQ(session.safe_version(LevelId::global), 1U);
  });
  ASSERT_TRUE(job.errors().empty()) << job.errors().begin()->second;
  EXPECT_THAT(contents_of(job.global_store()).versions, testing::ElementsAre(1)) << "a partial directory stayed";
  job.run([](JobSession& session) {
    Steps steps(session);
    EXPECT_EQ(steps.restore(), 2U);
    EXPECT_EQ(steps.advance(), 3U);
    session.wait(LevelId::global);
  });
  EXPECT_THAT(contents_of(job.global_store()).versions, testing::ElementsAre(3));
}

TEST(FullGlobalStore, fails_finalize_when_the_last_version_cannot_go_there_and_keeps_it_on_the_nodes) {
  Job job({2, 2, 2}, "[levels]\nl1 = every 1\nl2 = off\nl3 = off\nl4 = every 100\n");
  refuse_version_2(job);
  job.run_and_die([](JobSession& session) {
    Steps steps(session);
    steps.restore();
    steps.advance_by(2);
    EXPECT_THAT(thrown_by([&] { session.finalize(); }), Fails(ErrorKind::storage, {"version 2", "L4", "77"}));
  });
  ASSERT_TRUE(job.errors().empty()) << job.errors().begin()->second;
  job.wrap_global = {};
  job.run([](JobSession& session) { EXPECT_EQ(Steps(session).restore(), 2U); });
}

}  // namespace
}  // namespace cairn::test
