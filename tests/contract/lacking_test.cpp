// File systems that lack an operation: a store does without it, or says what is lacking. The C library's functions are
// replaced in this executable by ones that fail as such file systems do.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "contract/sample_store.hpp"
#include "session/protected_directory.hpp"
#include "store/posix/posix_store.hpp"
#include "support/facts.hpp"
#include "support/temp_directory.hpp"
#include "support/text_files.hpp"

namespace {

// By the call's name: its error, and how often it was given. No error: the call does what it should.
struct Lack {
  int error = 0;
  int times = 0;
};
// Of the thread that tests, so that nobody else's calls are touched.
thread_local std::map<std::string, Lack>* lacking = nullptr;

template <class... Arguments>
int call_system(const char* name, long number, Arguments... arguments) {
  if (lacking == nullptr || !lacking->contains(name)) return static_cast<int>(::syscall(number, arguments...));
  Lack& lack = lacking->at(name);
  ++lack.times;
  if (lack.error == 0) return static_cast<int>(::syscall(number, arguments...));
  errno = lack.error;
  return -1;
}

}  // namespace

extern "C" {

int fdatasync(int file) { return call_system("fdatasync", SYS_fdatasync, file); }
int fsync(int file) { return call_system("fsync", SYS_fsync, file); }
int syncfs(int file) noexcept { return call_system("syncfs", SYS_syncfs, file); }
int flock(int file, int operation) noexcept { return call_system("flock", SYS_flock, file, operation); }
int fallocate(int file, int mode, off_t offset, off_t bytes) {
  return call_system("fallocate", SYS_fallocate, file, mode, offset, bytes);
}
int renameat2(int from, const char* old_name, int to, const char* new_name, unsigned flags) noexcept {
  return call_system("renameat2", SYS_renameat2, from, old_name, to, new_name, flags);
}

}  // extern "C"

namespace cairn {
namespace {

namespace fs = std::filesystem;
using test::kShard;

// While it lives, these calls fail.
class Lacking {
 public:
  explicit Lacking(const std::map<std::string, int>& errors) {
    for (const auto& [call, error] : errors) calls_[call].error = error;
    lacking = &calls_;
  }
  ~Lacking() { lacking = nullptr; }
  Lacking(const Lacking&) = delete;
  Lacking& operator=(const Lacking&) = delete;
  [[nodiscard]] int times(const std::string& call) const { return calls_.at(call).times; }

 private:
  std::map<std::string, Lack> calls_;
};

Status use(const std::string& root) {
  auto store = PosixStore::open(root, "heat");
  if (!store) return fail(store.error());
  auto writer = (*store)->create(kShard, 100, "rank0");
  if (!writer) return fail(writer.error());
  const Buffer bytes(100, std::byte{7});
  if (auto written = (*writer)->write(0, bytes); !written) return written;
  if (auto done = (*writer)->commit(100, true); !done) return done;
  auto reader = (*store)->open(kShard);
  if (!reader) return fail(reader.error());
  EXPECT_EQ((*reader)->size_bytes(), 100U);
  return {};
}

// /tmp is on a disk or not, /dev/shm is in memory, where files are mapped.
class LackingFileSystem : public testing::TestWithParam<const char*> {};

TEST_P(LackingFileSystem, that_syncs_no_directories_syncs_all) {
  const test::TempDirectory root(GetParam());
  const Lacking lack({{"fsync", EINVAL}});
  const Status used = use(root.path());
  EXPECT_TRUE(used) << used.error().text();
  EXPECT_GT(lack.times("fsync"), 0);
}

TEST_P(LackingFileSystem, reserves_no_space_and_renames_only_over_what_is_there) {
  for (const int error : {EINVAL, EOPNOTSUPP, ENOSYS}) {
    const test::TempDirectory root(GetParam());
    const Lacking lack({{"fallocate", error}, {"renameat2", error}});
    const Status used = use(root.path());
    EXPECT_TRUE(used) << used.error().text();
    EXPECT_GT(lack.times("renameat2"), 0);
  }
}

TEST_P(LackingFileSystem, without_locks_is_refused_at_once_and_by_name) {
  const test::TempDirectory root(GetParam());
  auto store = PosixStore::open(root.path(), "heat");
  ASSERT_TRUE(store) << store.error().text();
  const Lacking lack({{"flock", ENOLCK}});
  const auto lock = (*store)->lock();
  ASSERT_FALSE(lock);
  EXPECT_EQ(lock.error().code, Code::io);
  EXPECT_NE(lock.error().hint.find("[storage]"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(On, LackingFileSystem, testing::Values("/tmp", "/dev/shm"),
                         [](const auto& path) { return std::string(path.param) == "/tmp" ? "disk" : "memory"; });

// A read is not tried again and again for ten seconds, as it is while another process has the file locked.
TEST(LackingLocks, of_a_file_in_memory_are_an_error_of_the_read) {
  const test::TempDirectory root("/dev/shm");
  ASSERT_TRUE(use(root.path()));
  auto store = PosixStore::open(root.path(), "heat");
  ASSERT_TRUE(store);
  const Lacking lack({{"flock", ENOLCK}});
  const auto reader = (*store)->open(kShard);
  ASSERT_FALSE(reader);
  EXPECT_EQ(reader.error().code, Code::io);
  EXPECT_EQ(lack.times("flock"), 1);
}

TEST(LackingSyncs, of_everything_are_an_error_that_names_the_directory) {
  const test::TempDirectory root("/tmp");
  const Lacking lack({{"fsync", EOPNOTSUPP}, {"syncfs", EOPNOTSUPP}});
  const Status used = use(root.path());
  ASSERT_FALSE(used);
  EXPECT_NE(used.error().text().find(root.path()), std::string::npos);
  EXPECT_NE(used.error().text().find("[storage]"), std::string::npos);
}

// A directory that is put back elsewhere, with so many files in each of two directories.
class PutBack {
 public:
  explicit PutBack(int files) : from_(place_.path() + "/from", Rank{0}), to_(to(), Rank{0}) {
    for (const char* const part : {"/a", "/b"}) {
      fs::create_directories(place_.path() + "/from" + part);
      for (int file = 0; file < files; ++file)
        test::write_file(place_.path() + "/from" + part + "/" + std::to_string(file), "text " + std::to_string(file));
    }
    fs::create_directories(to() + "/b");
  }
  [[nodiscard]] std::string to() const { return place_.path() + "/to"; }
  [[nodiscard]] Status put_back() {
    if (auto opened = from_.open(); !opened) return opened;
    const MutableBytes bytes = to_.use_memory(from_.size());
    if (auto read = from_.read(0, bytes); !read) return read;
    from_.close();
    auto done = to_.prepare_from_memory().and_then([&] { return to_.put_back(); });
    to_.forget();
    return done;
  }
  void expect_files(int files) const {
    for (int file = 0; file < files; ++file)
      EXPECT_EQ(test::text_of_file(to() + "/b/" + std::to_string(file)), "text " + std::to_string(file));
  }

 private:
  test::TempDirectory place_{"/tmp"};
  ProtectedDirectory from_, to_;
};

constexpr int kMany = 100;

TEST(ManyFiles, are_synced_by_one_call) {
  PutBack directory(kMany);
  const Lacking calls({{"syncfs", 0}, {"fdatasync", 0}});
  const Status done = directory.put_back();
  EXPECT_TRUE(done) << done.error().text();
  EXPECT_EQ(calls.times("syncfs"), 1);
  EXPECT_EQ(calls.times("fdatasync"), 0);
  directory.expect_files(kMany);
}

TEST(ManyFiles, are_synced_one_by_one_where_no_call_syncs_all) {
  for (const int error : {ENOSYS, EOPNOTSUPP, EIO}) {
    PutBack directory(kMany);
    const Lacking calls({{"syncfs", error}, {"fdatasync", 0}});
    const Status done = directory.put_back();
    EXPECT_TRUE(done) << done.error().text();
    EXPECT_EQ(calls.times("fdatasync"), 2 * kMany);
    directory.expect_files(kMany);
  }
}

TEST(ManyFiles, that_are_on_no_disk_are_not_put_back) {
  PutBack directory(kMany);
  const Lacking calls({{"syncfs", EIO}, {"fdatasync", EIO}});
  EXPECT_THAT(directory.put_back(), test::Fails(Code::failed_elsewhere, {directory.to() + "/a/0", "sync"}));
  EXPECT_TRUE(fs::is_empty(directory.to() + "/b"));
}

TEST(ManyFiles, of_another_file_system_below_the_directory_are_synced_one_by_one) {
  PutBack directory(kMany);
  ASSERT_EQ(::mount("tmpfs", (directory.to() + "/b").c_str(), "tmpfs", 0, "size=2m"), 0);
  const Lacking calls({{"syncfs", 0}, {"fdatasync", 0}});
  const Status done = directory.put_back();
  EXPECT_TRUE(done) << done.error().text();
  EXPECT_EQ(calls.times("syncfs"), 1);
  EXPECT_EQ(calls.times("fdatasync"), kMany);
  directory.expect_files(kMany);
  ::umount2((directory.to() + "/b").c_str(), MNT_DETACH);
}

// What other programs have written need not be waited for.
TEST(ManyFiles, are_more_than_a_few) {
  PutBack directory(5);
  const Lacking calls({{"syncfs", 0}, {"fdatasync", 0}});
  const Status done = directory.put_back();
  EXPECT_TRUE(done) << done.error().text();
  EXPECT_EQ(calls.times("syncfs"), 0);
  EXPECT_EQ(calls.times("fdatasync"), 10);
}

}  // namespace
}  // namespace cairn
