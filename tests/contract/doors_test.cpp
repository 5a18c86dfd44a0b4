// What somebody else may have put in a store's way: links, hard links, pipes, directories of their own. Nothing of that
// is followed, written to, or waited for.
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/posix/posix_store.hpp"
#include "support/facts.hpp"
#include "support/temp_directory.hpp"
#include "support/text_files.hpp"

namespace cairn {
namespace {

using test::Fails;

namespace fs = std::filesystem;

constexpr uid_t kSomebody = 12345;

// A job's store on tmpfs or on disk, and a file of the user's that is none of its business.
class Doors : public testing::TestWithParam<const char*> {
 protected:
  Doors() { std::ofstream(precious()) << std::string(8192, 'p'); }

  [[nodiscard]] std::string job() const { return root_.path() + "/heat"; }
  [[nodiscard]] std::string precious() const { return elsewhere_.path() + "/precious"; }
  [[nodiscard]] bool precious_is_whole() const { return test::text_of_file(precious()) == std::string(8192, 'p'); }
  [[nodiscard]] Result<std::shared_ptr<Store>> open() const { return PosixStore::open(root_.path(), "heat"); }

  test::TempDirectory root_{GetParam()};
  test::TempDirectory elsewhere_{GetParam()};
};

TEST_P(Doors, a_store_whose_directory_is_exchanged_stays_in_the_one_it_has) {
  const auto store = open().value();
  ASSERT_TRUE(write_text(*store, FileName{"v1/rank0"}, "mine"));
  const auto bell = store->bell().value();
  const auto lock = store->lock().value();
  const std::string kept = root_.path() + "/kept";
  for (const bool link : {true, false}) {
    fs::rename(job(), kept);
    fs::remove_all(elsewhere_.path() + "/theirs");
    fs::create_directories(elsewhere_.path() + "/theirs");
    if (link)
      fs::create_directory_symlink(elsewhere_.path() + "/theirs", job());
    else
      fs::create_directory(job());
    ASSERT_TRUE(write_text(*store, FileName{"v2/rank0"}, "mine too"));
    EXPECT_EQ(read_text(*store, FileName{"v1/rank0"}).value_or(""), "mine");
    bell->ring(Bell::Who::head);
    EXPECT_TRUE(store->retire(FileName{"v2/rank0"}, "rank0"));
    EXPECT_TRUE(fs::is_empty(job())) << "nothing goes where the name leads now";
    EXPECT_TRUE(fs::exists(kept + "/v2"));
    fs::remove_all(job());
    fs::rename(kept, job());
  }
}

TEST_P(Doors, a_bell_in_a_directory_of_somebody_else_is_not_rung) {
  const auto store = open().value();
  const auto bell = store->bell().value();
  fs::rename(job(), root_.path() + "/kept");
  fs::create_directory(job());
  fs::create_hard_link(precious(), job() + "/bell");
  ASSERT_EQ(::chown(job().c_str(), kSomebody, kSomebody), 0) << "this test must run as root";
  bell->ring(Bell::Who::head);
  EXPECT_TRUE(precious_is_whole());
}

TEST_P(Doors, files_with_other_names_are_not_written_to) {
  for (const std::string name : {"lock", "bell", "recycle/rank0.1.free", "v1/rank0"}) {
    SCOPED_TRACE(name);
    fs::remove_all(job());
    const auto store = open().value();
    fs::create_directories(job() + "/v1");
    fs::create_hard_link(precious(), job() + "/" + name);
    if (name == "lock") {
      EXPECT_THAT(store->lock(), Fails(Code::io, {job() + "/lock"}));
    } else if (name == "bell") {
      EXPECT_THAT(store->bell(), Fails(Code::io, {job() + "/bell"}));
    } else if (name == "v1/rank0") {
      EXPECT_FALSE(store->patch(FileName{name}, 0, bytes_of("x")));
      EXPECT_TRUE(store->retire(FileName{name}, "rank0"));
      EXPECT_FALSE(fs::exists(job() + "/" + name));
      EXPECT_TRUE(write_text(*store, FileName{name}, "in its place"));
    } else {
      auto writer = store->create(FileName{"v1/rank1"}, 8192, "rank0");
      ASSERT_TRUE(writer) << writer.error().text();
      EXPECT_TRUE((*writer)->write(0, bytes_of("mine")));
      EXPECT_TRUE((*writer)->commit(8192, false));
      EXPECT_TRUE(store->clean());
      EXPECT_TRUE(fs::is_empty(job() + "/recycle"));
    }
    EXPECT_TRUE(precious_is_whole());
  }
}

TEST_P(Doors, a_pool_of_somebody_else_is_refused) {
  { ASSERT_TRUE(open()); }
  ASSERT_EQ(::chown((job() + "/recycle").c_str(), kSomebody, kSomebody), 0) << "this test must run as root";
  EXPECT_THAT(open(), Fails(Code::io, {job() + "/recycle", "user 12345"}));
  fs::remove_all(job() + "/recycle");
  fs::create_directory_symlink(elsewhere_.path(), job() + "/recycle");
  EXPECT_THAT(open(), Fails(Code::io, {job() + "/recycle"}));
}

TEST_P(Doors, links_and_pipes_in_the_place_of_files_are_neither_followed_nor_waited_for) {
  const std::vector<std::function<void(const std::string&)>> traps{
      [&](const std::string& path) { fs::create_symlink(precious(), path); },
      [&](const std::string& path) { ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0); }};
  for (const auto& trap : traps) {
    for (const std::string name : {"lock", "bell", "recycle/rank0.1.free", "v1/rank0"}) {
      SCOPED_TRACE(name);
      fs::remove_all(job());
      const auto store = open().value();
      fs::create_directories(job() + "/v1");
      trap(job() + "/" + name);
      EXPECT_EQ(store->lock().has_value(), name != "lock");
      EXPECT_EQ(store->bell().has_value(), name != "bell");
      EXPECT_FALSE(store->open(FileName{"v1/rank0"}));
      EXPECT_TRUE(write_text(*store, FileName{"v1/rank0"}, "in its place"));
      auto writer = store->create(FileName{"v1/rank1"}, 8192, "rank0");
      EXPECT_TRUE(writer && (*writer)->write(0, bytes_of("mine")) && (*writer)->commit(8192, false));
      EXPECT_TRUE(precious_is_whole());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Places, Doors, testing::Values("/dev/shm", "/var/tmp"),
                         [](const auto& place) { return place.index == 0 ? "tmpfs" : "disk"; });

}  // namespace
}  // namespace cairn
