// A node's store that somebody removes under a running job: the job goes on, and is safe again at its next snapshot.
#include <filesystem>
#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "session/session_impl.hpp"
#include "store/posix_store.hpp"
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
};

// All ranks wait for each other.
void meet(JobSession& session) { ASSERT_TRUE(session.impl().ranks().barrier()); }

TEST(RemovedStore, is_made_again_and_the_next_snapshot_is_safe) {
  for (const std::string mode : {"rank", "inline"}) {
    for (const std::string what : {"", "/heat", "/heat/recycle"}) {
      JobInMemory cluster(mode);
      cluster.job.run_well_and_die([&](JobSession& session) {
        Steps steps(session);
        steps.restore();
        steps.advance_by(2);
        steps.wait_for_all();
        meet(session);
        if (session.rank() == 0) fs::remove_all(cluster.place(1) + what);
        meet(session);
        const std::string thrown = thrown_by([&] { steps.advance(); }, [&] { session.wait(LevelId::partner); });
        EXPECT_EQ(thrown, "") << mode << what;
        EXPECT_EQ(session.safe_version(LevelId::partner), 3U);
        meet(session);
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
    steps.restore();
    steps.advance_by(2);
    steps.wait_for_all();
    meet(session);
    if (session.rank() == 0) fs::remove_all(cluster.place(1));
    meet(session);
    EXPECT_EQ(steps.restore(), 2U) << "from the partner";
    EXPECT_GT(session.last_restore().ranks_from[1], 0U);
  });
}

}  // namespace
}  // namespace cairn::test
