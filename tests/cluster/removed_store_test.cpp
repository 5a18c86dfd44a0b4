// A node's store that somebody removes under a running job: the job goes on, and is safe again at its next snapshot.
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "session/session_impl.hpp"
#include "store/names.hpp"
#include "store/posix/posix_store.hpp"
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

// Takes so many snapshots; then, while all ranks wait, one of them removes something.
void take_and_remove(JobSession& session, Steps& steps, std::uint32_t snapshots, const std::function<void()>& remove) {
  const auto meet = [&] { ASSERT_TRUE(session.impl().ranks().barrier()); };
  steps.restore();
  steps.advance_by(snapshots);
  steps.wait_for_all();
  meet();
  if (session.rank() == 0) remove();
  meet();
}

TEST(RemovedStore, is_made_again_and_the_next_snapshot_is_safe) {
  for (const std::string mode : {"rank", "inline"}) {
    for (const std::string what : {"", "/heat", "/heat/recycle"}) {
      JobInMemory cluster(mode);
      cluster.job.run_well_and_die([&](JobSession& session) {
        Steps steps(session);
        take_and_remove(session, steps, 2, [&] { fs::remove_all(cluster.place(1) + what); });
        const std::string thrown = thrown_by([&] { steps.advance(); }, [&] { session.wait(LevelId::partner); });
        EXPECT_EQ(thrown, "") << mode << what;
        EXPECT_EQ(session.safe_version(LevelId::partner), 3U);
        ASSERT_TRUE(session.impl().ranks().barrier());
      });
      fs::remove_all(cluster.place(0));
      cluster.job.run_well_and_die([](JobSession& session) { EXPECT_EQ(Steps(session).restore(), 3U); });
    }
  }
}

TEST(RemovedStore, holds_nothing_that_a_restore_in_the_same_life_could_count_on) {
  JobInMemory cluster("rank");
  cluster.job.run_well_and_die([&](JobSession& session) {
    Steps steps(session);
    take_and_remove(session, steps, 2, [&] { fs::remove_all(cluster.place(1)); });
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
      take_and_remove(session, steps, 2, [&] { fs::remove_all(cluster.version_of(1, 2)); });
      steps.advance();
      session.wait(LevelId::local);
    });
    fs::remove_all(cluster.version_of(0, 3));
    cluster.job.run_well_and_die([](JobSession& session) { EXPECT_EQ(Steps(session).restore(), 1U); });
  }
}

TEST(RemovedStore, is_marked_again_as_one_of_the_same_chain) {
  JobInMemory cluster("rank");
  cluster.job.run_well_and_die([&](JobSession& session) {
    Steps steps(session);
    take_and_remove(session, steps, 1, [&] { fs::remove_all(cluster.place(1)); });
    steps.advance();
    steps.wait_for_all();
  });
  const auto marks = {cluster.mark_of(0), cluster.mark_of(1)};
  EXPECT_THAT(marks, testing::Each(testing::AllOf(testing::HasSubstr("chain mark"), *marks.begin())));
}

}  // namespace
}  // namespace cairn::test
