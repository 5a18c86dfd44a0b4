#include "session/storage_places.hpp"

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/facts.hpp"
#include "support/temp_directory.hpp"

namespace cairn {
namespace {

using test::Fails;

namespace fs = std::filesystem;

TEST(StoragePlaces, are_absolute_whatever_the_working_directory) {
  EXPECT_EQ(absolute_place("/a/../b/./c"), "/b/c");
  EXPECT_EQ(absolute_place("checkpoints"), (fs::current_path() / "checkpoints").string());
}

// Files there have paths that a program uses after it has changed its directory.
TEST(StoragePlaces, of_nodes_are_absolute) {
  Config config;
  config.storage.local = "scratch/./local";
  const std::string here = (fs::current_path() / "scratch/local").string();
  EXPECT_EQ(place_of_node(config, "c17"), here);
  config.topology.node_size = {2, 2};
  EXPECT_EQ(place_of_node(config, "node1"), here + "/node1");
}

TEST(StoragePlaces, apart_are_good) {
  const test::TempDirectory directory("/tmp");
  const std::string root = directory.path();
  EXPECT_TRUE(check_places(root + "/local", root + "/global"));
  EXPECT_TRUE(check_places(root + "/store", root + "/store2"));
  EXPECT_TRUE(check_places("/dev/shm/cairn-test", "./checkpoints"));
}

TEST(StoragePlaces, that_are_one_or_lie_in_each_other_are_refused_through_links_too) {
  const test::TempDirectory directory("/tmp");
  const std::string root = directory.path();
  fs::create_directory(root + "/real");
  fs::create_directory_symlink(root + "/real", root + "/link");
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {"/real", "/real"},        {"/real", "/real/"},
      {"/real", "/link"},        {"/link/new", "/real/other/../new"},
      {"/real", "/link/global"}, {"/link/local/deep", "/real"},
      {"/real/..", "/new"}};
  for (const auto& [local, global] : wrong) {
    SCOPED_TRACE(local + " and " + global);
    const auto checked = check_places(root + local, root + global);
    ASSERT_FALSE(checked);
    EXPECT_THAT(checked, Fails(Code::config, {"local", root + local, "global", root + global}));
  }
}

}  // namespace
}  // namespace cairn
