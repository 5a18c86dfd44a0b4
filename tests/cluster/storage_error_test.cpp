// A store that is full or fails costs a snapshot, not the run: snapshot() does not throw, the log says so once, and
// wait() and finalize() throw if the newest snapshot is not as safe as asked.
#include <chrono>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/facts.hpp"
#include "support/hooked_store.hpp"
#include "support/job.hpp"
#include "support/steps.hpp"

namespace cairn::test {
namespace {

constexpr const char* kSettings =
    "[levels]\nl1 = every 1\nl2 = every 2\nl3 = off\nl4 = off\n[restart]\nat_end = continue\n";

// Refuses to make the files of versions 2 to `last`, below 10, whose names end so: on node 1, as a full store does.
struct RefusingJob {
  explicit RefusingJob(const std::string& ending, char last = '2') {
    job.wrap_node = [ending, last](std::uint32_t node, std::shared_ptr<Store> store) -> std::shared_ptr<Store> {
      if (node != 1) return store;
      return std::make_shared<HookedStore>(store, [ending, last](const HookedStore::Operation& operation) -> Status {
        const bool creates = operation.kind == HookedStore::Operation::Kind::create;
        const bool refused =
            operation.path.starts_with("v0000000") && operation.path[8] >= '2' && operation.path[8] <= last;
        if (creates && refused && operation.path.ends_with(ending))
          return fail(Code::no_space, operation.path + ": the store is full");
        return {};
      });
    };
  }
  Job job{{3, 3, 3}, kSettings};
};

// What an application does after it has restored.
using Body = std::function<void(JobSession& session, Steps& steps)>;
std::function<void(JobSession&)> after_restore(const Body& body) {
  return [body](JobSession& session) {
    Steps steps(session);
    steps.restore();
    body(session, steps);
  };
}

// The other ranks have used up the version's number, and wait for this rank's part.
TEST(StorageError, of_memory_costs_one_snapshot_and_no_later_one) {
  Job job({3, 3, 3}, kSettings);
  job.wrap_node = [](std::uint32_t node, std::shared_ptr<Store> store) -> std::shared_ptr<Store> {
    if (node != 1) return store;
    return std::make_shared<HookedStore>(store, [](const HookedStore::Operation& operation) -> Status {
      const bool creates = operation.kind == HookedStore::Operation::Kind::create;
      if (creates && operation.path.starts_with("v00000002") && operation.path.ends_with(".shard"))
        throw std::bad_alloc();
      return {};
    });
  };
  job.run(after_restore([](JobSession& session, Steps& steps) {
    steps.advance();
    EXPECT_THAT(thrown_by([&] { steps.advance(); }), testing::IsEmpty());
    const Thrown told = thrown_by([&] { session.wait(LevelId::local); });
    EXPECT_THAT(told, Fails(ErrorKind::storage, {"version 2", session.rank() / 2 == 1 ? "memory" : "node 1"}));
    steps.advance();
    session.wait(LevelId::local);
    EXPECT_EQ(session.safe_version(LevelId::local), 3U);
  }));
}

TEST(StorageError, of_a_ranks_own_write_is_no_exception_but_of_wait) {
  RefusingJob refusing(".shard");
  refusing.job.run(after_restore([](JobSession& session, Steps& steps) {
    steps.advance();
    session.wait(LevelId::local);
    EXPECT_EQ(session.storage_error(), "");
    EXPECT_THAT(thrown_by([&] { steps.advance(); }), testing::IsEmpty());
    EXPECT_THAT(thrown_by([&] { session.wait(LevelId::local); }), Fails(ErrorKind::storage, {"version 2"}));
    EXPECT_THAT(thrown_by([&] { steps.advance(); }), testing::IsEmpty());
    EXPECT_THAT(thrown_by([&] { session.wait(LevelId::local); }), testing::IsEmpty());
    EXPECT_THAT(session.storage_error(), Names({"version 2"}));
    EXPECT_EQ(session.safe_version(LevelId::local), 3U);
  }));
  refusing.job.run([](JobSession& session) { EXPECT_EQ(Steps(session).restore(), 3U); });
}

TEST(StorageError, of_the_newest_snapshot_is_thrown_by_finalize) {
  RefusingJob refusing(".shard");
  refusing.job.run_well_and_die(after_restore([](JobSession& session, Steps& steps) {
    EXPECT_THAT(thrown_by([&] { steps.advance_by(2); }), testing::IsEmpty());
    EXPECT_THAT(thrown_by([&] { session.finalize(); }), Fails(ErrorKind::storage, {"version 2"}));
  }));
  refusing.job.run([](JobSession& session) { EXPECT_EQ(Steps(session).restore(), 1U); });
}

TEST(StorageError, of_background_work_is_no_exception_but_of_wait_for_that_level) {
  RefusingJob refusing(".copy");
  refusing.job.run(after_restore([](JobSession& session, Steps& steps) {
    EXPECT_THAT(thrown_by([&] { steps.advance_by(2); }), testing::IsEmpty());
    EXPECT_THAT(thrown_by([&] { session.wait(LevelId::local); }), testing::IsEmpty());
    EXPECT_THAT(thrown_by([&] { session.wait(LevelId::partner); }), Fails(ErrorKind::storage, {"version 2"}));
    // At the end the newest snapshot is safer than was asked.
  }));
}

// Else a node that is lost before the level is due again would take all newer snapshots along.
TEST(StorageError, lets_the_next_snapshot_reach_the_levels_of_one_that_is_abandoned) {
  RefusingJob refusing(".shard");
  refusing.job.run_well_and_die(after_restore([](JobSession& session, Steps& steps) {
    steps.advance_by(3);
    // It waits for what the rank itself has asked for; if the heads have raised version 3 already, that is there, too.
    const Thrown told = thrown_by([&] { session.wait(LevelId::partner); });
    if (!told.empty()) {
      EXPECT_THAT(told, Fails(ErrorKind::storage, {"version 2"}));
    }
    constexpr int kMostLooks = 60'000;  // a minute
    for (int look = 0; look < kMostLooks && session.safe_version(LevelId::partner) < 3; ++look)
      std::this_thread::sleep_for(std::chrono::milliseconds{1});
    EXPECT_EQ(session.safe_version(LevelId::partner), 3U);
  }));
  refusing.job.lose(1);
  refusing.job.run([](JobSession& session) { EXPECT_EQ(Steps(session).restore(), 3U); });
}

void expect_one_line_of(const std::string& ending, const Things& what) {
  RefusingJob refusing(ending);
  testing::internal::CaptureStderr();
  refusing.job.run(after_restore([](JobSession& session, Steps& steps) {
    steps.advance_by(2);
    (void)thrown_by([&] { session.wait(LevelId::partner); });
    steps.advance();
    session.wait(LevelId::local);
  }));
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_THAT(lines_that_name(log, {"version 2"}), ElementsAre(Names(what))) << log;
}

TEST(StorageError, of_a_ranks_own_write_is_logged_once_with_its_cause) {
  expect_one_line_of(".shard", {"version 2", ".shard"});
}
TEST(StorageError, of_background_work_is_logged_once_with_its_cause) {
  expect_one_line_of(".copy", {"version 2", "L2"});
}

TEST(StorageError, of_many_snapshots_is_logged_once_and_so_is_its_end) {
  RefusingJob refusing(".shard", '5');
  refusing.job.log_level = "info";
  testing::internal::CaptureStderr();
  refusing.job.run(after_restore([](JobSession& session, Steps& steps) {
    for (int step = 0; step < 8; ++step) {
      steps.advance();
      (void)thrown_by([&] { session.wait(LevelId::local); });
    }
  }));
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_THAT(lines_that_name(log, {"the store is full"}), ElementsAre(Names({"version 2", ".shard"}))) << log;
  EXPECT_THAT(lines_that_name(log, {"had the same error"}), ElementsAre(Names({"version 6", "L1", "3 snapshots"})))
      << log;
}

}  // namespace
}  // namespace cairn::test
