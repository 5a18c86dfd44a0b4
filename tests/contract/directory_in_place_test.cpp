// A directory that somebody made where a file of the store should be: it is told, and is not in the way for ever.
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/posix/posix_store.hpp"
#include "support/facts.hpp"
#include "support/temp_directory.hpp"

namespace cairn {
namespace {

using test::Fails;

namespace fs = std::filesystem;

// A store with a directory at the place of `name`, which holds something.
struct StoreWithDirectory {
  test::TempDirectory root;
  std::shared_ptr<Store> store;

  StoreWithDirectory(const std::string& place, const FileName& name)
      : root(place), store(PosixStore::open(root.path(), "heat").value()) {
    fs::create_directories(path_of(name) + "/deeper");
  }
  [[nodiscard]] std::string path_of(const FileName& name) const { return root.path() + "/heat/" + name.path; }
  [[nodiscard]] bool pool_is_empty() const { return fs::is_empty(root.path() + "/heat/recycle"); }
};

void for_each_place(const std::function<void(const std::string& place, const FileName& name)>& body) {
  for (const std::string place : {"/dev/shm", "/var/tmp"}) {
    for (const std::string path : {"v1/rank0", "chain.json"}) {
      SCOPED_TRACE(testing::Message() << place << ", " << path);
      body(place, FileName{path});
    }
  }
}

TEST(DirectoryInPlace, of_a_file_is_told_as_damage) {
  for_each_place([](const std::string& place, const FileName& name) {
    const StoreWithDirectory with(place, name);
    const auto reader = with.store->open(name);
    EXPECT_THAT(reader, Fails(Code::corrupt, {name.path}));
  });
}

TEST(DirectoryInPlace, of_a_file_gives_way_to_it_when_it_is_written) {
  for_each_place([](const std::string& place, const FileName& name) {
    const StoreWithDirectory with(place, name);
    const Status written = write_text(*with.store, name, "text");
    ASSERT_TRUE(written) << written.error().text();
    EXPECT_EQ(read_text(*with.store, name).value_or(""), "text");
    EXPECT_TRUE(with.pool_is_empty());
  });
}

TEST(DirectoryInPlace, of_a_file_goes_when_that_is_retired_or_removed) {
  for_each_place([](const std::string& place, const FileName& name) {
    const StoreWithDirectory with(place, name);
    const Status retired = with.store->retire(name, "rank0");
    EXPECT_TRUE(retired) << retired.error().text();
    EXPECT_FALSE(fs::exists(with.path_of(name)));
    fs::create_directories(with.path_of(name) + "/deeper");
    const Status removed = with.store->remove(name);
    EXPECT_TRUE(removed) << removed.error().text();
    EXPECT_FALSE(fs::exists(with.path_of(name)));
    EXPECT_TRUE(with.pool_is_empty());
  });
}

}  // namespace
}  // namespace cairn
