// File systems that lack an operation: a store does without it, or says what is lacking. The C library's functions are
// replaced in this executable by ones that fail as such file systems do.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "contract/sample_store.hpp"
#include "store/posix/posix_store.hpp"
#include "support/temp_directory.hpp"

namespace {

// By the call's name: its error, and how often it was given.
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
  errno = lack.error;
  return -1;
}

}  // namespace

extern "C" {

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

}  // namespace
}  // namespace cairn
