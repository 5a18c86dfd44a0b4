// What a PosixStore promises to be durable is, by the order of its system calls: a file's data is synced before it gets
// its name, a name by a sync of its directory, and so up to what was there before. The C library's functions are
// replaced in this executable by ones that note what is not synced. Each sync is then taken out in turn, and is missed.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/posix/posix_store.hpp"
#include "support/temp_directory.hpp"

namespace {

using Inode = std::pair<dev_t, ino_t>;

std::optional<Inode> inode_of(const struct stat& status) { return Inode{status.st_dev, status.st_ino}; }
std::optional<Inode> inode_of(int file) {
  struct stat status = {};
  return ::fstat(file, &status) == 0 ? inode_of(status) : std::nullopt;
}
std::optional<Inode> inode_at(int directory, const std::string& name) {
  struct stat status = {};
  return ::fstatat(directory, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 ? inode_of(status) : std::nullopt;
}

// What a power cut could take at this moment.
class Unsynced {
 public:
  explicit Unsynced(std::optional<std::size_t> without) : without_(without) {}

  void data(std::optional<Inode> file) {
    if (file) data_.insert(*file);
  }
  void name(int directory, const std::string& name) {
    if (const auto inode = inode_of(directory)) names_[*inode].insert(name);
  }
  void named(int directory, const std::string& name) {
    this->name(directory, name);
    const auto file = inode_at(directory, name);
    if (file && data_.contains(*file)) early_.insert(name);
  }
  // Of a file's data or a directory's names.
  void sync(int file) {
    const auto inode = inode_of(file);
    if (!inode) return;
    const std::size_t number = syncs_++;
    if (!data_.contains(*inode) && !names_.contains(*inode)) return;
    needed_.push_back(number);
    if (number == without_) return;
    data_.erase(*inode);
    names_.erase(*inode);
  }

  [[nodiscard]] bool has_name(int directory, const std::string& name) const {
    const auto inode = inode_of(directory);
    const auto found = inode ? names_.find(*inode) : names_.end();
    return found != names_.end() && found->second.contains(name);
  }
  [[nodiscard]] bool has_data(int directory, const std::string& name) const {
    const auto file = inode_at(directory, name);
    return file && data_.contains(*file);
  }
  // Whether a file got this name before its data was synced.
  [[nodiscard]] bool was_named_early(const std::string& name) const { return early_.contains(name); }
  // Syncs that had something to do, by their number.
  [[nodiscard]] const std::vector<std::size_t>& needed() const { return needed_; }

 private:
  std::optional<std::size_t> without_;
  std::size_t syncs_ = 0;
  std::vector<std::size_t> needed_;
  std::set<Inode> data_;
  std::map<Inode, std::set<std::string>> names_;  // by directory
  std::set<std::string> early_;
};

// Of the thread that tests.
thread_local Unsynced* unsynced = nullptr;

template <class Note>
int noted(int answer, Note note) {
  const int number = errno;
  if (answer >= 0 && unsynced != nullptr) note(*unsynced);
  errno = number;
  return answer;
}

template <class... Arguments>
int call_system(long number, Arguments... arguments) {
  return static_cast<int>(::syscall(number, arguments...));
}

int rename_and_note(int from, const char* old_name, int to, const char* new_name, unsigned flags) {
  return noted(call_system(SYS_renameat2, from, old_name, to, new_name, flags), [&](Unsynced& now) {
    now.name(from, old_name);
    now.named(to, new_name);
  });
}

int make_and_note(int directory, const char* path, mode_t mode) {
  const int made = call_system(SYS_mkdirat, directory, path, mode);
  return noted(made, [&](Unsynced& now) {
    const std::filesystem::path whole = path;
    const auto above = whole.has_parent_path() ? whole.parent_path() : ".";
    const int parent = call_system(SYS_openat, directory, above.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    now.name(parent, whole.filename());
    ::close(parent);
  });
}

}  // namespace

extern "C" {

int openat(int directory, const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const auto mode = (flags & O_CREAT) != 0 ? va_arg(more, mode_t) : 0U;
  va_end(more);
  const bool makes = unsynced != nullptr && (flags & O_CREAT) != 0 && !inode_at(directory, path);
  const int file = call_system(SYS_openat, directory, path, flags, mode);
  return noted(file, [&](Unsynced& now) {
    if (!makes) return;
    now.name(directory, path);
    now.data(inode_of(file));
  });
}
int mkdirat(int directory, const char* path, mode_t mode) noexcept { return make_and_note(directory, path, mode); }
int mkdir(const char* path, mode_t mode) noexcept { return make_and_note(AT_FDCWD, path, mode); }
int renameat(int from, const char* old_name, int to, const char* new_name) noexcept {
  return rename_and_note(from, old_name, to, new_name, 0);
}
int renameat2(int from, const char* old_name, int to, const char* new_name, unsigned flags) noexcept {
  return rename_and_note(from, old_name, to, new_name, flags);
}
int unlinkat(int directory, const char* path, int flags) noexcept {
  return noted(call_system(SYS_unlinkat, directory, path, flags), [&](Unsynced& now) { now.name(directory, path); });
}
int ftruncate(int file, off_t length) noexcept {
  return noted(call_system(SYS_ftruncate, file, length), [&](Unsynced& now) { now.data(inode_of(file)); });
}
int fallocate(int file, int mode, off_t offset, off_t length) {
  return noted(call_system(SYS_fallocate, file, mode, offset, length),
               [&](Unsynced& now) { now.data(inode_of(file)); });
}
ssize_t pwrite(int file, const void* from, size_t bytes, off_t offset) {
  const auto written = ::syscall(SYS_pwrite64, file, from, bytes, offset);
  noted(written < 0 ? -1 : 0, [&](Unsynced& now) { now.data(inode_of(file)); });
  return written;
}
// Nobody cuts the power here, so that no time goes into it.
int fdatasync(int file) {
  return noted(0, [&](Unsynced& now) { now.sync(file); });
}
int fsync(int file) { return fdatasync(file); }

}  // extern "C"

namespace cairn {
namespace {

namespace fs = std::filesystem;

const FileName kManifest{"v1/manifest.json"};
const FileName kShard{"v1/rank0.shard"};
constexpr const char* kJob = "new/root/heat";  // in a directory that is durable

// A store whose calls are noted, in a root that is not there yet; and what is wrong with it.
class NotedStore {
 public:
  explicit NotedStore(std::optional<std::size_t> without) : now_(without) {
    unsynced = &now_;
    auto opened = PosixStore::open(base_.path() + "/new/root", "heat");
    needed(opened ? Status{} : fail(opened.error()));
    if (opened) store_ = std::move(*opened);
  }
  ~NotedStore() { unsynced = nullptr; }
  NotedStore(const NotedStore&) = delete;
  NotedStore& operator=(const NotedStore&) = delete;

  [[nodiscard]] Store& store() { return *store_; }
  [[nodiscard]] std::string path() const { return base_.path() + "/" + kJob; }
  [[nodiscard]] const std::vector<std::string>& complaints() const { return complaints_; }
  [[nodiscard]] const std::vector<std::size_t>& needed_syncs() const { return now_.needed(); }

  void needed(const Status& status) { EXPECT_TRUE(status) << status.error().text(); }
  void write(const FileName& name, bool sync, const std::string& owner = "rank0") {
    auto writer = store_->create(name, 10'000, owner);
    ASSERT_TRUE(writer) << writer.error().text();
    needed((*writer)->write(0, Buffer(5'000, std::byte{7})));
    needed((*writer)->commit(5'000, sync));
  }

  // All names on the way to it from what was there before.
  void expect_name(const std::string& path) {
    fs::path at = base_.path();
    for (const fs::path& step : fs::path(kJob) / path) {
      const int directory = ::open(at.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
      if (now_.has_name(directory, step)) complaints_.push_back((at / step).string() + ": the name is not synced");
      ::close(directory);
      at /= step;
    }
  }
  void expect_data(const std::string& path) {
    if (now_.has_data(AT_FDCWD, this->path() + "/" + path)) complaints_.push_back(path + ": the data is not synced");
  }
  void expect_durable(const FileName& name) {
    expect_name(name.path);
    expect_data(name.path);
    if (now_.was_named_early(fs::path(name.path).filename()))
      complaints_.push_back(name.path + ": the data was synced after the file got its name");
  }

 private:
  const test::TempDirectory base_{"/var/tmp"};
  Unsynced now_;
  std::shared_ptr<Store> store_;
  std::vector<std::string> complaints_;
};

struct Promise {
  std::string name;
  void (*use)(NotedStore& noted);
};
void PrintTo(const Promise& promise, std::ostream* out) { *out << promise.name; }

const Promise kPromises[] = {
    {"a_committed_file_is_durable",
     [](NotedStore& noted) {
       noted.write(kManifest, true);
       noted.expect_durable(kManifest);
     }},
    {"a_text_that_replaces_another_is_durable",
     [](NotedStore& noted) {
       for (const char* text : {"old", "a new one"}) {
         noted.needed(write_text(noted.store(), FileName{"chain.json"}, text));
         noted.expect_durable(FileName{"chain.json"});
       }
     }},
    {"synced_bytes_are_durable_and_their_name_is_with_the_next_in_its_directory",
     [](NotedStore& noted) {
       noted.write(kShard, false);
       noted.needed(noted.store().patch(kShard, 0, bytes_of("patch")));
       noted.needed(noted.store().sync(kShard));
       noted.expect_data(kShard.path);
       noted.write(kManifest, true);
       noted.expect_durable(kManifest);
       noted.expect_name(kShard.path);
     }},
    {"a_recycled_file_is_durable",
     [](NotedStore& noted) {
       noted.write(kShard, true);
       noted.expect_durable(kShard);
       noted.needed(noted.store().retire(kShard, "rank0"));
       noted.write(FileName{"v2/rank0.shard"}, true);
       noted.expect_durable(FileName{"v2/rank0.shard"});
     }},
    {"a_renamed_directory_is_durable",
     [](NotedStore& noted) {
       noted.write(FileName{"v1.partial/manifest.json"}, true);
       noted.expect_durable(FileName{"v1.partial/manifest.json"});
       noted.needed(noted.store().rename_directory(DirName{"v1.partial"}, DirName{"v1"}));
       noted.expect_durable(kManifest);
       noted.expect_name("v1.partial");
     }},
    {"a_store_that_was_removed_is_made_again_durably",
     [](NotedStore& noted) {
       noted.write(kManifest, true);
       noted.expect_durable(kManifest);
       fs::remove_all(fs::path(noted.path()).parent_path());
       noted.write(kManifest, true);
       noted.expect_durable(kManifest);
     }},
};

class Promises : public testing::TestWithParam<Promise> {};

TEST_P(Promises, are_kept_by_the_order_of_system_calls) {
  NotedStore noted({});
  GetParam().use(noted);
  EXPECT_THAT(noted.complaints(), testing::IsEmpty());
  EXPECT_THAT(noted.needed_syncs(), testing::Not(testing::IsEmpty()));
}

TEST_P(Promises, are_broken_without_any_of_the_syncs) {
  NotedStore whole({});
  GetParam().use(whole);
  for (const std::size_t number : whole.needed_syncs()) {
    NotedStore noted(number);
    GetParam().use(noted);
    EXPECT_THAT(noted.complaints(), testing::Not(testing::IsEmpty())) << "without sync " << number;
  }
}

INSTANTIATE_TEST_SUITE_P(PosixStore, Promises, testing::ValuesIn(kPromises),
                         [](const auto& promise) { return promise.param.name; });

}  // namespace
}  // namespace cairn
