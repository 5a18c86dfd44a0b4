// Signals that interrupt system calls: a store calls again, whatever the call. The C library's functions are replaced
// in this executable by ones that fail with EINTR each time before they work.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/posix/posix_store.hpp"
#include "support/temp_directory.hpp"

namespace {

// Of the thread that tests, so that nobody else's calls are touched.
thread_local bool interrupting = false;
thread_local bool let_pass = false;
thread_local std::set<std::string>* interrupted_calls = nullptr;

bool interrupts(const char* call) {
  if (!interrupting) return false;
  let_pass = !let_pass;
  if (!let_pass) return false;
  interrupting = false;  // what is noted may call the system, too
  interrupted_calls->insert(call);
  interrupting = true;
  errno = EINTR;
  return true;
}

template <class... Arguments>
int call_system(const char* name, long number, Arguments... arguments) {
  return interrupts(name) ? -1 : static_cast<int>(::syscall(number, arguments...));
}

}  // namespace

extern "C" {

int openat(int directory, const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const auto mode = (flags & O_CREAT) != 0 ? va_arg(more, mode_t) : 0U;
  va_end(more);
  return call_system("openat", SYS_openat, directory, path, flags, mode);
}
int mkdirat(int directory, const char* path, mode_t mode) noexcept {
  return call_system("mkdirat", SYS_mkdirat, directory, path, mode);
}
int renameat(int from, const char* old_name, int to, const char* new_name) noexcept {
  return call_system("renameat", SYS_renameat2, from, old_name, to, new_name, 0U);
}
int renameat2(int from, const char* old_name, int to, const char* new_name, unsigned flags) noexcept {
  return call_system("renameat2", SYS_renameat2, from, old_name, to, new_name, flags);
}
int unlinkat(int directory, const char* path, int flags) noexcept {
  return call_system("unlinkat", SYS_unlinkat, directory, path, flags);
}
int flock(int file, int operation) noexcept { return call_system("flock", SYS_flock, file, operation); }
int ftruncate(int file, off_t length) noexcept { return call_system("ftruncate", SYS_ftruncate, file, length); }
int fdatasync(int file) { return call_system("fdatasync", SYS_fdatasync, file); }
int fsync(int file) { return call_system("fsync", SYS_fsync, file); }
ssize_t pread(int file, void* into, size_t bytes, off_t offset) {
  return interrupts("pread") ? -1 : ::syscall(SYS_pread64, file, into, bytes, offset);
}
ssize_t pwrite(int file, const void* from, size_t bytes, off_t offset) {
  return interrupts("pwrite") ? -1 : ::syscall(SYS_pwrite64, file, from, bytes, offset);
}

}  // extern "C"

namespace cairn {
namespace {

using testing::IsSupersetOf;

// While it lives, every call is interrupted once before it works.
class Interruptions {
 public:
  Interruptions() {
    interrupted_calls = &calls_;
    let_pass = false;
    interrupting = true;
  }
  ~Interruptions() { interrupting = false; }
  Interruptions(const Interruptions&) = delete;
  Interruptions& operator=(const Interruptions&) = delete;

  // Those that met it.
  [[nodiscard]] const std::set<std::string>& calls() const { return calls_; }

 private:
  std::set<std::string> calls_;
};

// All that a store can be asked for; the first error.
Status use(const std::string& root) {
  const auto opened = PosixStore::open(root, "heat");
  if (!opened) return fail(opened.error());
  Store& store = **opened;
  Status status;
  const auto then = [&](Status next) {
    if (status && !next) status = std::move(next);
  };
  const auto needed = [&](const auto& result) { then(result ? Status{} : fail(result.error())); };

  needed(store.lock());
  needed(store.bell());
  then(write_text(store, FileName{"v1/manifest"}, "text"));
  then(write_text(store, FileName{"v1/manifest"}, "more text"));
  needed(store.warm_up("rank0", 10'000, 1));
  for (int turn = 0; turn < 3; ++turn) {
    auto writer = store.create(FileName{"v1/rank0"}, 10'000, "rank0");
    needed(writer);
    if (!writer) return status;
    then((*writer)->write(0, Buffer(20'000, std::byte{7})));
    then((*writer)->commit(15'000, true));
    then(store.patch(FileName{"v1/rank0"}, 0, bytes_of("patch")));
    then(store.sync(FileName{"v1/rank0"}));
    needed(read_text(store, FileName{"v1/rank0"}));
    then(store.retire(FileName{"v1/rank0"}, "rank0"));
  }
  needed(store.create(FileName{"v1/given-up"}, 10'000, "head"));
  then(store.rename_directory(DirName{"v1"}, DirName{"v2"}));
  needed(store.list(DirName{}));
  then(store.remove(FileName{"v2/none"}));
  then(store.remove_directory(DirName{"v2"}));
  needed(store.free_bytes());
  then(store.reclaim(Store::Writers::of_this_host));
  then(store.clean());
  return status;
}

TEST(InterruptedStore, calls_again_in_memory) {
  const test::TempDirectory root("/dev/shm");
  const Interruptions interruptions;
  const Status used = use(root.path());
  EXPECT_TRUE(used) << used.error().text();
  EXPECT_THAT(interruptions.calls(), IsSupersetOf({"openat", "mkdirat", "renameat", "renameat2", "unlinkat", "flock",
                                                   "ftruncate", "fdatasync", "fsync", "pwrite"}));
}

TEST(InterruptedStore, calls_again_on_a_disk) {
  const test::TempDirectory root("/var/tmp");
  const Interruptions interruptions;
  const Status used = use(root.path());
  EXPECT_TRUE(used) << used.error().text();
  EXPECT_THAT(interruptions.calls(), IsSupersetOf({"openat", "mkdirat", "renameat", "renameat2", "unlinkat", "flock",
                                                   "ftruncate", "fdatasync", "fsync", "pread", "pwrite"}));
}

}  // namespace
}  // namespace cairn
