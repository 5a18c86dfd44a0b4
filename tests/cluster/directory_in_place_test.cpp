// A directory that somebody made where a file of a snapshot should be is a file that is gone: what is whole elsewhere
// is used, and nothing fails for ever because of it.
#include <algorithm>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

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

constexpr const char* kLevels =
    "[levels]\nl1 = every 1\nl2 = every 1\nl3 = every 1\nl4 = every 1\n[erasure]\nparity = 1\n[restart]\nat_end = ";

// Three nodes and a global store, all of them directories.
struct JobOnDisk {
  TempDirectory root{"/dev/shm"};
  Job job{{2, 2, 2}, std::string(kLevels) + "continue\n"};

  JobOnDisk() {
    job.wrap_node = [this](std::uint32_t node, const std::shared_ptr<Store>&) {
      return PosixStore::open(root.path() + "/node" + std::to_string(node), "heat").value();
    };
    job.wrap_global = [this](const std::shared_ptr<Store>&) {
      return PosixStore::open(root.path() + "/global", "heat").value();
    };
  }
  [[nodiscard]] std::string node_store() const { return root.path() + "/node1/heat"; }
  [[nodiscard]] std::string global_store() const { return root.path() + "/global/heat"; }
};

// Files of a store.
struct Found {
  std::string path;
  std::string name;
};
std::vector<Found> files_in(const std::string& store) {
  std::vector<Found> found;
  for (const auto& entry : fs::recursive_directory_iterator(store)) {
    if (!entry.is_regular_file() || entry.path().string().find("/recycle/") != std::string::npos) continue;
    found.push_back({entry.path().string(), entry.path().filename().string()});
  }
  return found;
}

void take_two_and_die(JobOnDisk& disk) {
  disk.job.run_well_and_die([](JobSession& session) {
    Steps steps(session);
    steps.restore();
    steps.advance_by(2);
    steps.wait_for_all();
  });
}

// One file of the last version after the other, and the records beside it. The job goes on from it and ends.
void expect_each_file_may_be_a_directory(const std::function<std::string(const JobOnDisk&)>& store) {
  std::size_t files = 1;
  for (std::size_t i = 0; i < files; ++i) {
    JobOnDisk disk;
    take_two_and_die(disk);
    std::vector<Found> found = files_in(store(disk));
    std::erase_if(found, [](const Found& file) { return file.path.find("/v00000001-") != std::string::npos; });
    std::erase_if(found, [](const Found& file) { return file.name == "lock" || file.name == "bell"; });
    std::ranges::sort(found, {}, &Found::name);
    files = found.size();
    SCOPED_TRACE(found[i].name);
    fs::remove(found[i].path);
    fs::create_directories(found[i].path + "/deeper");
    disk.job.configure(std::string(kLevels) + "finished\n");
    EXPECT_THAT(thrown_by([&] {
                  disk.job.run([](JobSession& session) {
                    Steps steps(session);
                    EXPECT_EQ(steps.restore(), 2U);
                    steps.advance_by(4);
                    steps.wait_for_all();
                  });
                }),
                testing::IsEmpty());
    for (const auto& entry : fs::directory_iterator(disk.node_store()))
      EXPECT_FALSE(names::parse_snapshot(entry.path().filename().string())) << entry.path();
    ASSERT_FALSE(testing::Test::HasFailure());
  }
  EXPECT_GE(files, 4U);
}

TEST(DirectoryInPlace, of_any_file_of_a_node_costs_that_file_only) {
  expect_each_file_may_be_a_directory([](const JobOnDisk& disk) { return disk.node_store(); });
}

TEST(DirectoryInPlace, of_any_file_of_the_global_store_costs_that_file_only) {
  expect_each_file_may_be_a_directory([](const JobOnDisk& disk) { return disk.global_store(); });
}

}  // namespace
}  // namespace cairn::test
