// Files that snapshots also put where other programs read them, when they reach L4.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/posix/posix_store.hpp"
#include "support/facts.hpp"
#include "support/faulty_store.hpp"
#include "support/job.hpp"
#include "support/small_tmpfs.hpp"
#include "support/temp_directory.hpp"
#include "support/text_files.hpp"

namespace cairn::test {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;

std::string settings(const std::string& l4, const std::string& more = {}) {
  return "[levels]\nl1 = every 1\nl2 = off\nl3 = off\nl4 = " + l4 + "\n[restart]\nat_end = continue\n" + more;
}

class Destinations : public testing::Test {
 protected:
  Destinations() {
    job.log_level = "off";
    fs::create_directory(out());
  }
  [[nodiscard]] std::string out() const { return directory.path() + "/out"; }
  [[nodiscard]] std::string own(std::uint32_t rank) const { return directory.path() + "/own" + std::to_string(rank); }
  // Several blocks of a shard.
  static std::string contents(std::uint32_t rank, int step) {
    return std::string(1'500'000 + rank, static_cast<char>('a' + step)) + std::to_string(rank);
  }
  [[nodiscard]] std::vector<std::string> written() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(out())) names.push_back(entry.path().filename().string());
    std::ranges::sort(names);
    return names;
  }
  void protect(JobSession& session, int& step, const std::string& name = "state-{version}-{rank}") const {
    session.protect("step", step, same);
    session.protect_file("state", own(session.rank()));
    session.destination("state", out() + "/" + name);
  }
  void take(JobSession& session, int& step) const {
    write_file(own(session.rank()), contents(session.rank(), ++step));
    session.snapshot();
  }
  void expect_written(const std::string& name, std::uint32_t rank, int step) const {
    EXPECT_TRUE(text_of_file(out() + "/" + name) == contents(rank, step)) << name;
  }

  TempDirectory directory{"/tmp"};
  Job job{{2, 2}, settings("every 2")};
};

TEST_F(Destinations, get_the_files_of_snapshots_that_reach_l4_and_keep_them) {
  job.configure(settings("every 2", "[storage]\nkeep_global = 1\n"));
  job.run_well_and_die([&](JobSession& session) {
    int step = 0;
    protect(session, step);
    session.restore();
    take(session, step);
    session.wait(LevelId::local);
    EXPECT_THAT(written(), IsEmpty());
    for (int i = 0; i < 3; ++i) take(session, step);
    session.wait(LevelId::global);
  });
  EXPECT_THAT(written(), ElementsAre("state-2-0", "state-2-1", "state-4-0", "state-4-1"));
  for (const std::uint32_t rank : {0U, 1U}) {
    expect_written("state-2-" + std::to_string(rank), rank, 2);
    expect_written("state-4-" + std::to_string(rank), rank, 4);
  }
}

TEST_F(Destinations, without_a_version_have_the_newest_with_its_permissions) {
  job.run_well_and_die([&](JobSession& session) {
    int step = 0;
    protect(session, step, "state-{rank}");
    session.restore();
    for (int i = 0; i < 4; ++i) {
      take(session, step);
      fs::permissions(own(session.rank()), fs::perms(0640));
      if (step % 2 == 0) session.wait(LevelId::global);
      if (step == 2) expect_written("state-" + std::to_string(session.rank()), session.rank(), 2);
    }
  });
  EXPECT_THAT(written(), ElementsAre("state-0", "state-1"));
  for (const std::uint32_t rank : {0U, 1U}) {
    expect_written("state-" + std::to_string(rank), rank, 4);
    EXPECT_EQ(fs::status(out() + "/state-" + std::to_string(rank)).permissions(), fs::perms(0640));
  }
}

TEST_F(Destinations, have_the_last_snapshot_of_a_job_when_it_ends) {
  job.configure(settings("every 100"));
  const auto run = [&](int steps) {
    job.run([&](JobSession& session) {
      int step = 0;
      protect(session, step);
      session.restore();
      for (int i = 0; i < steps; ++i) take(session, step);
    });
  };
  run(3);
  EXPECT_THAT(written(), ElementsAre("state-3-0", "state-3-1"));
  expect_written("state-3-1", 1, 3);
}

// The job has died between its last snapshot and its end, and the next run has nothing left to compute.
TEST_F(Destinations, have_a_restored_snapshot_that_reaches_l4_at_the_end) {
  job.configure(settings("every 100"));
  job.run_well_and_die([&](JobSession& session) {
    int step = 0;
    protect(session, step);
    session.restore();
    for (int i = 0; i < 3; ++i) take(session, step);
    session.wait(LevelId::local);
  });
  EXPECT_THAT(written(), IsEmpty());
  job.run([&](JobSession& session) {
    int step = 0;
    protect(session, step);
    session.restore();
    EXPECT_EQ(step, 3);
  });
  EXPECT_THAT(written(), ElementsAre("state-3-0", "state-3-1"));
  expect_written("state-3-0", 0, 3);
}

TEST_F(Destinations, that_cannot_be_written_keep_a_snapshot_from_l4_and_are_named) {
  fs::remove(out());
  job.run_well_and_die([&](JobSession& session) {
    int step = 0;
    protect(session, step);
    session.restore();
    take(session, step);
    take(session, step);
    EXPECT_THAT(thrown_by([&] { session.wait(LevelId::global); }),
                Fails(ErrorKind::storage, {"version 2 did not reach L4", "file \"state\"", out()}));
    EXPECT_EQ(session.safe_version(LevelId::global), 0U);
    EXPECT_EQ(session.safe_version(LevelId::local), 2U);
    fs::create_directories(out());
    take(session, step);
    take(session, step);
    session.wait(LevelId::global);
    EXPECT_EQ(session.safe_version(LevelId::global), 4U);
  });
  EXPECT_THAT(written(), ElementsAre("state-4-0", "state-4-1"));
}

TEST_F(Destinations, on_a_full_disk_are_as_they_were) {
  const SmallTmpfs small("size=5m");
  ASSERT_TRUE(small.mounted());
  fs::remove(out());
  fs::create_directory_symlink(small.path(), out());
  job.run_well_and_die([&](JobSession& session) {
    int step = 0;
    protect(session, step, "state-{rank}");
    session.restore();
    take(session, step);
    take(session, step);
    session.wait(LevelId::global);
    session.wait(LevelId::global);
    if (session.rank() == 0) write_file(out() + "/other", std::string(1'500'000, 'x'));
    take(session, step);
    take(session, step);
    EXPECT_THAT(thrown_by([&] { session.wait(LevelId::global); }),
                Fails(ErrorKind::storage, {"file \"state\"", "No space left"}));
  });
  EXPECT_THAT(written(), ElementsAre("other", "state-0", "state-1"));
  for (const std::uint32_t rank : {0U, 1U}) expect_written("state-" + std::to_string(rank), rank, 2);
}

TEST_F(Destinations, end_where_they_are_taken_away_or_the_file_is_protected_again) {
  job.run_well_and_die([&](JobSession& session) {
    int step = 0;
    protect(session, step);
    session.restore();
    session.destination("state", "");
    take(session, step);
    take(session, step);
    session.wait(LevelId::global);
    EXPECT_THAT(written(), IsEmpty());
    protect(session, step);
    session.protect_file("state", own(session.rank()));
    take(session, step);
    take(session, step);
    session.wait(LevelId::global);
    EXPECT_THAT(written(), IsEmpty());
  });
}

TEST_F(Destinations, are_for_files_alone) {
  job.run([&](JobSession& session) {
    int step = 0;
    session.protect("step", step);
    session.protect_directory("results", out());
    session.protect_file("state", own(session.rank()));
    for (const char* const name : {"step", "results"})
      EXPECT_THAT(thrown_by([&] { session.destination(name, "x"); }), Fails(ErrorKind::usage, {name, "no file"}));
    EXPECT_THAT(thrown_by([&] { session.destination("other", "x"); }), Fails(ErrorKind::usage, {"\"other\""}));
    EXPECT_THAT(thrown_by([&] { session.destination("state", own(session.rank())); }),
                Fails(ErrorKind::usage, {"\"state\"", "the file itself"}));
  });
}

TEST_F(Destinations, get_scratch_files_too) {
  job.wrap_node = [&](std::uint32_t node, const std::shared_ptr<Store>&) {
    return PosixStore::open(directory.path() + "/node" + std::to_string(node), "heat").value();
  };
  job.run_well_and_die([&](JobSession& session) {
    const std::string path = session.scratch_file("state");
    session.destination("state", out() + "/{rank}.dat");
    session.restore();
    write_file(path, contents(session.rank(), 5));
    session.snapshot(LevelId::global);
    EXPECT_EQ(text_of_file(path), "missing");
    session.wait(LevelId::global);
  });
  EXPECT_THAT(written(), ElementsAre("0.dat", "1.dat"));
  expect_written("1.dat", 1, 5);
}

// A crash at store operation 0, 1, 2 … of two snapshots: each file there is whole, and of a snapshot.
TEST_F(Destinations, are_whole_after_a_crash_at_any_store_operation) {
  const auto plan_of = [](std::uint64_t operation) {
    auto plan = std::make_shared<FaultPlan>();
    plan->crash_at(operation);
    return plan;
  };
  bool crashed = true;
  std::uint32_t seen = 0;
  for (std::uint64_t operation = 0; crashed; operation += 1 + operation / 40) {
    const auto plan = plan_of(operation);
    for (const auto& entry : fs::directory_iterator(out())) fs::remove(entry.path());
    Job crashing({2, 2}, settings("every 1"));
    crashing.log_level = "off";
    const auto faulty = [&](std::shared_ptr<Store> store) { return std::make_shared<FaultyStore>(store, plan); };
    crashing.wrap_node = [&](std::uint32_t, std::shared_ptr<Store> store) { return faulty(std::move(store)); };
    crashing.wrap_global = faulty;
    crashing.run_and_die([&](JobSession& session) {
      plan->on_first_failure([&] { session.kill_job(); });
      int step = 0;
      protect(session, step, "state-{rank}");
      session.restore();
      for (int i = 0; i < 2; ++i) {
        take(session, step);
        session.wait(LevelId::global);
      }
    });
    crashed = plan->has_failed();
    for (const std::string& name : written()) {
      const auto rank = static_cast<std::uint32_t>(name.back() - '0');
      const std::string text = text_of_file(out() + "/" + name);
      ASSERT_TRUE(text == contents(rank, 1) || text == contents(rank, 2)) << name << ", operation " << operation;
      ++seen;
    }
  }
  EXPECT_GT(seen, 3U);
}

}  // namespace
}  // namespace cairn::test
