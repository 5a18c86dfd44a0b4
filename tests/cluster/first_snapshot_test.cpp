// A job that dies around its first snapshot, before it has ever called restore(): a restart is fresh, or goes on from
// what is whole.
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/facts.hpp"
#include "support/faulty_store.hpp"
#include "support/hooked_store.hpp"
#include "support/job.hpp"
#include "support/steps.hpp"

namespace cairn::test {
namespace {

const std::string kLocal = "[levels]\nl1 = every 1\nl2 = off\nl3 = off\nl4 = off\n";

template <class Condition>
void poll(Condition condition, std::chrono::milliseconds limit) {
  const auto until = std::chrono::steady_clock::now() + limit;
  while (!condition() && std::chrono::steady_clock::now() < until)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

bool has_a_manifest(const MemoryStore& store) {
  const Contents contents = contents_of(store);
  return contents.versions.size() > contents.without_manifest;
}

// Node 1 has all it needs to write its manifest; node 0 is not so far.
TEST(FirstSnapshot, is_nothing_that_is_lost_when_one_node_alone_has_sealed_it) {
  for (const char* mode : {"rank", "thread"}) {
    SCOPED_TRACE(mode);
    Job job({2, 2}, std::string("[head]\nmode = ") + mode + "\n" + kLocal);
    std::atomic<bool> sealed = false;
    job.run_and_die([&](JobSession& session) {
      Steps steps(session);
      if (session.rank() != 0) {
        steps.advance();
        sealed = true;
      } else {
        poll([&] { return sealed.load(); }, std::chrono::minutes(1));
        poll([&] { return has_a_manifest(job.node_store(1)); }, std::chrono::seconds(1));
        session.kill_job();
      }
    });
    EXPECT_FALSE(has_a_manifest(job.node_store(1))) << "before the life is recorded";
    job.run_well_and_die([](JobSession& session) {
      Steps steps(session);
      EXPECT_EQ(steps.restore(), 0U);
      steps.advance_by(1);
      steps.wait_for_all();
    });
    job.run_well_and_die([](JobSession& session) { EXPECT_EQ(Steps(session).restore(), 1U); });
  }
}

std::vector<std::string> files_of(const Store& store) {
  std::vector<std::string> files;
  const auto entries = store.list(DirName{});
  for (const Entry& entry : entries.value()) files.push_back(entry.name);
  return files;
}

// Nothing is there that a record would have to disown: a restart finds what this run has found.
TEST(FreshStart, of_a_job_that_no_store_knows_is_recorded_with_its_first_snapshot) {
  for (const char* head : {"", "[head]\nmode = inline\n"}) {
    Job job({2, 2}, kLocal + head);
    for (int life = 0; life < 2; ++life) {
      job.run_well_and_die([](JobSession& session) {
        Steps steps(session);
        EXPECT_EQ(steps.restore(), 0U);
        EXPECT_EQ(steps.restore(), 0U);
      });
      EXPECT_THAT(files_of(job.global_store()), testing::IsEmpty());
    }
    job.run_well_and_die([](JobSession& session) {
      Steps steps(session);
      EXPECT_EQ(steps.restore(), 0U);
      steps.advance();
      steps.wait_for_all();
    });
    EXPECT_THAT(files_of(job.global_store()), testing::Not(testing::IsEmpty()));
    expect_restore(job, 1);
  }
}

// Its end is: a job that has finished is not one that no store knows.
TEST(FreshStart, without_a_snapshot_is_recorded_when_it_ends) {
  Job job({2, 2}, kLocal);
  job.run([](JobSession& session) { EXPECT_EQ(Steps(session).restore(), 0U); });
  EXPECT_THAT(files_of(job.global_store()), testing::Not(testing::IsEmpty()));
  job.run([](JobSession& session) {
    Steps steps(session);
    EXPECT_EQ(steps.restore(), 0U);
    EXPECT_EQ(session.incarnation(), 2U);
  });
}

// Records of lives cannot be written any more once a node has its first manifest. A restart on fewer nodes could not
// tell the rest of a safe snapshot from nothing.
TEST(FirstSnapshot, is_safe_only_once_it_is_recorded_that_there_is_one) {
  Job job({2, 2}, kLocal);
  std::atomic<bool> broken = true;
  job.wrap_global = [&](std::shared_ptr<Store> store) {
    return std::make_shared<HookedStore>(store, [&](const HookedStore::Operation& operation) -> Status {
      if (!broken || !operation.path.starts_with("run-") || !has_a_manifest(job.node_store(0))) return {};
      return fail(Code::io, operation.path + ": the global store is away");
    });
  };
  job.run_well_and_die([&](JobSession& session) {
    Steps steps(session);
    steps.restore();
    EXPECT_THAT(thrown_by([&] { steps.advance(); }, [&] { session.wait(LevelId::local); }),
                Fails(ErrorKind::storage, {"version 1"}));
    EXPECT_EQ(session.safe_version(LevelId::local), 0U);
    broken = false;
    EXPECT_EQ(steps.advance(), 2U);
    session.wait(LevelId::local);
    EXPECT_EQ(session.safe_version(LevelId::local), 2U);
  });
  job.lose(1);
  job.run_well_and_die([](JobSession& session) {
    EXPECT_THAT(thrown_by([&] { Steps(session).restore(); }), Fails(ErrorKind::unrecoverable, {"version 2"}));
  });
}

// All nodes have sealed it, and the job dies before that is recorded. Then one shard is damaged, which is not known
// before it is read: another rank must not have its own in memory by then, and be told of a fresh start.
TEST(FirstSnapshot, that_was_not_recorded_and_is_damaged_leaves_regions_as_they_are) {
  Job job({3, 2}, kLocal);
  job.message_faults = std::make_shared<CommFaultPlan>();
  std::atomic<int> records{0};
  job.wrap_global = [&](std::shared_ptr<Store> store) {
    return std::make_shared<HookedStore>(std::move(store), [&](const HookedStore::Operation& operation) -> Status {
      if (!operation.path.starts_with("run-") || ++records < 2) return {};
      job.message_faults->on_first_failure();
      return fail(Code::io, "nobody is there to write it");
    });
  };
  job.run_and_die([](JobSession& session) {
    Steps steps(session);
    steps.restore();
    (void)thrown_by([&] { steps.advance(); }, [&] { session.wait(LevelId::local); });
  });
  job.wrap_global = {};
  job.message_faults.reset();
  ASSERT_TRUE(has_a_manifest(job.node_store(0)) && has_a_manifest(job.node_store(1)));
  for (const auto& [path, bytes] : image_of(job.node_store(0))) {
    if (path.ends_with("rank000001.shard")) {
      ASSERT_TRUE(job.node_store(0).corrupt(FileName{path}, 8192));
    }
  }
  job.run_well_and_die([](JobSession& session) {
    std::vector<double> state(3, 7.0);
    std::uint32_t step = 9;
    session.protect("state", state);
    session.protect("step", step);
    EXPECT_FALSE(session.restore().restored);
    EXPECT_EQ(state, std::vector<double>(3, 7.0)) << "rank " << session.rank();
    EXPECT_EQ(step, 9U);
  });
}

TEST(FirstSnapshot, may_be_cut_short_at_any_operation) {
  Job job({2, 2}, kLocal);
  const auto plan = std::make_shared<FaultPlan>();
  job.wrap_node = [&](std::uint32_t, std::shared_ptr<Store> store) {
    return std::make_shared<FaultyStore>(std::move(store), plan);
  };
  job.wrap_global = [&](std::shared_ptr<Store> store) { return std::make_shared<FaultyStore>(std::move(store), plan); };
  const Job::Image empty = job.image();
  bool failed = true;
  for (std::uint64_t n = 0; failed; ++n) {
    SCOPED_TRACE(testing::Message() << "operation " << n);
    job.put_back(empty);
    plan->heal();
    plan->crash_at(n);
    job.run_and_die([](JobSession& session) {
      Steps steps(session);
      thrown_by([&] { steps.advance(); }, [&] { session.wait(LevelId::local); });
    });
    failed = plan->has_failed();
    plan->heal();
    job.run_well_and_die([&](JobSession& session) { EXPECT_LE(Steps(session).restore(), 1U); });
    ASSERT_FALSE(testing::Test::HasFailure());
  }
}

}  // namespace
}  // namespace cairn::test
