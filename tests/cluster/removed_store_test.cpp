// A node's store that somebody removes under a running job: the job goes on, and is safe again at its next snapshot.
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <system_error>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "session/session_impl.hpp"
#include "store/names.hpp"
#include "store/posix/posix_store.hpp"
#include "support/facts.hpp"
#include "support/job.hpp"
#include "support/steps.hpp"
#include "support/temp_directory.hpp"

namespace cairn::test {
namespace {

namespace fs = std::filesystem;

// Three nodes with their stores in memory.
struct JobInMemory {
  TempDirectory root{"/dev/shm"};
  Job job;

  explicit JobInMemory(const std::string& mode)
      : job({3, 3, 3},
            "[head]\nmode = " + mode +
                "\n[levels]\nl1 = every 1\nl2 = every 1\nl3 = off\nl4 = off\n[restart]\nat_end = continue\n") {
    job.wrap_node = [this](std::uint32_t node, const std::shared_ptr<Store>&) {
      return PosixStore::open(place(node), "heat").value();
    };
  }
  [[nodiscard]] std::string place(std::uint32_t node) const { return root.path() + "/node" + std::to_string(node); }
  [[nodiscard]] std::string version_of(std::uint32_t node, std::uint32_t version) const {
    for (const auto& entry : fs::directory_iterator(place(node) + "/heat")) {
      const auto dir = names::parse_snapshot(entry.path().filename().string());
      if (dir && dir->version.value == version) return entry.path();
    }
    ADD_FAILURE() << "node " << node << " has no version " << version;
    return {};
  }
  [[nodiscard]] std::string mark_of(std::uint32_t node) const {
    std::ifstream in(place(node) + "/heat/" + names::chain_mark().path);
    return {std::istreambuf_iterator<char>(in), {}};
  }
};

// Again, where a file was made in it meanwhile: a store gets slots ready when nobody asks for anything.
void remove_all(const std::string& place) {
  std::error_code error;
  do fs::remove_all(place, error);
  while (fs::exists(place));
}

// While all ranks wait, one of them removes something.
void remove_meanwhile(JobSession& session, Steps& steps, const std::function<void()>& remove) {
  const auto meet = [&] { ASSERT_TRUE(session.impl().ranks().barrier()); };
  steps.wait_for_all();
  meet();
  if (session.rank() == 0) remove();
  meet();
}

// Takes so many snapshots before that.
void take_and_remove(JobSession& session, Steps& steps, std::uint32_t snapshots, const std::function<void()>& remove) {
  steps.restore();
  steps.advance_by(snapshots);
  remove_meanwhile(session, steps, remove);
}

TEST(RemovedStore, is_made_again_and_the_next_snapshot_is_safe) {
  for (const std::string mode : {"rank", "inline"}) {
    for (const std::string what : {"", "/heat", "/heat/recycle"}) {
      JobInMemory cluster(mode);
      cluster.job.run_well_and_die([&](JobSession& session) {
        Steps steps(session);
        take_and_remove(session, steps, 2, [&] { remove_all(cluster.place(1) + what); });
        const Thrown thrown = thrown_by([&] { steps.advance(); }, [&] { session.wait(LevelId::partner); });
        EXPECT_THAT(thrown, testing::IsEmpty()) << mode << what;
        EXPECT_EQ(session.safe_version(LevelId::partner), 3U);
        ASSERT_TRUE(session.impl().ranks().barrier());
      });
      remove_all(cluster.place(0));
      cluster.job.run_well_and_die([](JobSession& session) { EXPECT_EQ(Steps(session).restore(), 3U); });
    }
  }
}

TEST(RemovedStore, holds_nothing_that_a_restore_in_the_same_life_could_count_on) {
  JobInMemory cluster("rank");
  cluster.job.run_well_and_die([&](JobSession& session) {
    Steps steps(session);
    take_and_remove(session, steps, 2, [&] { remove_all(cluster.place(1)); });
    EXPECT_EQ(steps.restore(), 2U) << "from the partner";
    EXPECT_GT(session.last_restore().ranks_from[1], 0U);
  });
}

// keep_local = 2 holds two versions that can be read, and the one before the last is one no longer.
TEST(RemovedStore, of_one_version_only_is_no_reason_to_retire_an_older_one) {
  for (const std::string mode : {"rank", "inline"}) {
    SCOPED_TRACE(mode);
    JobInMemory cluster(mode);
    cluster.job.configure("[head]\nmode = " + mode +
                          "\n[storage]\nkeep_local = 2\n[levels]\nl1 = every 1\nl2 = off\nl3 = off\nl4 = off\n");
    cluster.job.run_well_and_die([&](JobSession& session) {
      Steps steps(session);
      take_and_remove(session, steps, 2, [&] {
        const fs::path version = cluster.version_of(1, 2);
        remove_all(version);
        if (mode == "inline") fs::create_directory(version);  // as a promotion does that is under way
      });
      steps.advance();
      session.wait(LevelId::local);
    });
    remove_all(cluster.version_of(0, 3));
    cluster.job.run_well_and_die([](JobSession& session) { EXPECT_EQ(Steps(session).restore(), 1U); });
  }
}

// keep_local = 2 makes four slots. Versions 4 and 5 held two of them, and are nowhere any more.
TEST(RemovedStore, holds_no_slots_after_a_restore) {
  for (const std::string mode : {"rank", "inline"}) {
    SCOPED_TRACE(mode);
    JobInMemory cluster(mode);
    cluster.job.configure("[head]\nmode = " + mode +
                          "\n[storage]\nkeep_local = 2\n[levels]\nl1 = every 1\nl2 = off\nl3 = off\nl4 = every 3\n");
    cluster.job.run_well_and_die([&](JobSession& session) {
      Steps steps(session);
      take_and_remove(session, steps, 5, [&] {
        for (std::uint32_t node = 0; node < 3; ++node) remove_all(cluster.place(node));
      });
      EXPECT_EQ(steps.restore(), 3U);
      steps.advance_by(6);
      session.wait(LevelId::local);
    });
  }
}

// At L2 versions 1 and 3 count, and 2 is kept beside them; at L1 4 and 6, and 5 beside them. All six slots would be
// theirs.
TEST(RemovedStore, holds_no_slots_for_what_is_kept_beside_whole_versions) {
  for (const std::string mode : {"rank", "inline"}) {
    SCOPED_TRACE(mode);
    JobInMemory cluster(mode);
    cluster.job.configure("[head]\nmode = " + mode +
                          "\n[storage]\nkeep_local = 2\n[levels]\nl1 = every 1\nl2 = every 100\nl3 = off\nl4 = "
                          "off\n[partner]\nrotation = 2\n");
    cluster.job.run_well_and_die([&](JobSession& session) {
      Steps steps(session);
      steps.advance_to(LevelId::partner);
      steps.advance_to(LevelId::partner);
      remove_meanwhile(session, steps, [&] { remove_all(cluster.version_of(1, 2)); });
      steps.advance_to(LevelId::partner);
      steps.advance_by(2);
      remove_meanwhile(session, steps, [&] { remove_all(cluster.version_of(1, 5)); });
      steps.advance();
      session.wait(LevelId::local);
      EXPECT_TRUE(fs::exists(cluster.version_of(0, 1)));
      steps.advance_by(2);
      session.wait(LevelId::local);
    });
  }
}

TEST(RemovedStore, is_marked_again_as_one_of_the_same_chain) {
  JobInMemory cluster("rank");
  cluster.job.run_well_and_die([&](JobSession& session) {
    Steps steps(session);
    take_and_remove(session, steps, 1, [&] { remove_all(cluster.place(1)); });
    steps.advance();
    steps.wait_for_all();
  });
  const auto marks = {cluster.mark_of(0), cluster.mark_of(1)};
  EXPECT_THAT(marks, testing::Each(testing::AllOf(testing::HasSubstr("\"kind\": \"chain mark\""), *marks.begin())));
}

}  // namespace
}  // namespace cairn::test
