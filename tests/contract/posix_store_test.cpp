// What a store on a POSIX file system promises besides the contract.
#include "store/posix/posix_store.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include <fmt/format.h>

#include "contract/sample_store.hpp"
#include "store/memory/memory_store.hpp"
#include "store/names.hpp"
#include "support/facts.hpp"
#include "support/small_tmpfs.hpp"
#include "support/temp_directory.hpp"

namespace cairn {
namespace {

namespace fs = std::filesystem;

using test::Fails;
using test::kShard;
using test::pool_of;
constexpr PosixOptions kImpatient{64, std::chrono::milliseconds(0)};

std::shared_ptr<Store> open_store(const std::string& root, const PosixOptions& options = kImpatient) {
  auto store = PosixStore::open(root, "heat", options);
  EXPECT_TRUE(store) << store.error().text();
  return store.value_or(nullptr);
}

// Commits `size_bytes` bytes of `value`.
Status put(Store& store, const FileName& name, std::size_t size_bytes, std::byte value, const std::string& owner) {
  auto writer = store.create(name, size_bytes, owner);
  if (!writer) return fail(writer.error());
  const auto written = (*writer)->write(0, Buffer(size_bytes, value));
  return written ? (*writer)->commit(size_bytes, false) : written;
}

// What `child` returns, from a process of its own.
int in_child(const std::function<int()>& child) {
  const pid_t process = ::fork();
  if (process == 0) ::_exit(child());
  int status = -1;
  while (::waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(PosixStore, has_directories_for_files_of_the_application) {
  const test::TempDirectory root("/dev/shm");
  const auto store = open_store(root.path());
  const DirName name = names::files(Rank{7});
  for (int again = 0; again < 2; ++again) {
    const auto path = store->directory_of_files(name);
    ASSERT_TRUE(path) << path.error().text();
    EXPECT_EQ(*path, root.path() + "/heat/files.rank000007");
    std::ofstream(*path + "/state.h5") << "own";
    EXPECT_EQ(fs::status(*path).permissions(), fs::perms::owner_all);
  }
  const auto entries = store->list(DirName{}).value();
  ASSERT_EQ(entries.size(), 1U);
  EXPECT_EQ(names::parse_files(entries.front().name), Rank{7});
  EXPECT_TRUE(store->remove_directory(name));
  EXPECT_FALSE(fs::exists(root.path() + "/heat/files.rank000007"));
  for (const char* const wrong : {"recycle", "a/b", ".."})
    EXPECT_EQ(store->directory_of_files(DirName{wrong}).error().code, Code::invalid_argument) << wrong;
  EXPECT_EQ(MemoryStore().directory_of_files(name).error().code, Code::invalid_argument);
}

TEST(PosixStore, has_removed_what_it_removes_later_after_a_reclaim_or_when_it_is_destroyed) {
  const test::TempDirectory root("/var/tmp");
  const fs::path recycled = fs::path(root.path()) / "heat" / "recycle";
  for (const bool reclaims : {true, false}) {
    auto store = open_store(root.path());
    for (const char* const dir : {"v1", "v2"}) {
      for (int file = 0; file < 50; ++file)
        ASSERT_TRUE(write_text(*store, FileName{fmt::format("{}/{}", dir, file)}, "text"));
      ASSERT_TRUE(store->remove_directory_later(DirName{dir}));
    }
    if (reclaims) {
      ASSERT_TRUE(store->reclaim(Store::Writers::of_this_host));
      EXPECT_TRUE(fs::is_empty(recycled));
    }
    store.reset();
    EXPECT_TRUE(fs::is_empty(recycled));
  }
}

TEST(PosixStore, makes_missing_parents_and_a_job_directory_for_its_owner_only) {
  const test::TempDirectory root("/dev/shm");
  const auto store = PosixStore::open(root.path() + "/a/b", "heat");
  ASSERT_TRUE(store) << store.error().text();
  EXPECT_EQ((*store)->where(), root.path() + "/a/b/heat");
  struct stat status = {};
  ASSERT_EQ(::stat((root.path() + "/a/b/heat").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777U, 0700U);
}

mode_t mode_of(const std::string& path) {
  struct stat status = {};
  EXPECT_EQ(::stat(path.c_str(), &status), 0) << path;
  return status.st_mode & 07777U;
}

TEST(PosixStore, lets_its_group_read_whatever_is_committed_only_if_it_is_told_to) {
  for (const std::string place : {"/dev/shm", "/var/tmp"}) {
    const test::TempDirectory root(place);
    const std::string job = root.path() + "/heat";
    const mode_t before = ::umask(0077);
    const auto store = open_store(root.path(), {64, std::chrono::milliseconds(0), Readers::group});
    ASSERT_TRUE(put(*store, FileName{"v1/rank0"}, 100, std::byte{1}, "rank0"));
    ASSERT_TRUE(put(*store, FileName{"chain.json"}, 10, std::byte{1}, {}));
    ::umask(before);
    EXPECT_EQ(mode_of(job), 02750U);
    EXPECT_EQ(mode_of(job + "/v1"), 02750U);
    EXPECT_EQ(mode_of(job + "/v1/rank0"), 0640U);
    EXPECT_EQ(mode_of(job + "/chain.json"), 0640U);
    EXPECT_EQ(mode_of(job + "/recycle"), 0700U);
    // The same file under another name, of a run that is told nothing.
    ASSERT_TRUE(store->retire(FileName{"v1/rank0"}, "rank0"));
    const auto alone = open_store(root.path());
    ASSERT_TRUE(put(*alone, FileName{"v2/rank0"}, 100, std::byte{2}, "rank0"));
    EXPECT_EQ(mode_of(job + "/v2") & 0777U, 0700U);
    EXPECT_EQ(mode_of(job + "/v2/rank0"), 0600U);
  }
}

TEST(PosixStore, refuses_a_job_name_that_is_not_one_plain_component) {
  const test::TempDirectory root("/dev/shm");
  for (const std::string job : {"", ".", "..", "a/b", "/a", ".a"}) {
    const auto store = PosixStore::open(root.path(), job);
    ASSERT_FALSE(store) << job;
    EXPECT_EQ(store.error().code, Code::invalid_argument);
  }
}

TEST(PosixStore, refuses_a_job_directory_that_is_a_symbolic_link) {
  const test::TempDirectory root("/dev/shm");
  const test::TempDirectory elsewhere("/dev/shm");
  fs::create_directory_symlink(elsewhere.path(), root.path() + "/heat");
  const auto store = PosixStore::open(root.path(), "heat");
  EXPECT_THAT(store, Fails(Code::io, {root.path() + "/heat"}));
  EXPECT_TRUE(fs::is_empty(elsewhere.path()));
}

TEST(PosixStore, reaches_nothing_through_symbolic_links_inside_the_job) {
  const test::TempDirectory root("/dev/shm");
  const test::TempDirectory elsewhere("/dev/shm");
  const auto store = open_store(root.path());
  std::ofstream(elsewhere.path() + "/rank0") << "secret";
  fs::create_directory_symlink(elsewhere.path(), root.path() + "/heat/v1");
  fs::create_directory(root.path() + "/heat/v2");
  fs::create_symlink(elsewhere.path() + "/rank0", root.path() + "/heat/v2/rank0");

  for (const std::string name : {"v1/rank0", "v2/rank0"}) {
    EXPECT_FALSE(store->open(FileName{name})) << name;
    EXPECT_FALSE(store->patch(FileName{name}, 0, bytes_of("x"))) << name;
    EXPECT_FALSE(store->retire(FileName{name}, "rank0")) << name;
  }
  EXPECT_FALSE(store->create(FileName{"v1/new"}, 1, {}));
  EXPECT_TRUE(store->list(DirName{})->size() == 1);
  EXPECT_TRUE(store->list(DirName{"v2"})->empty());
  EXPECT_TRUE(store->remove_directory(DirName{"v2"}));
  std::string text;
  std::ifstream(elsewhere.path() + "/rank0") >> text;
  EXPECT_EQ(text, "secret");
}

TEST(PosixStore, refuses_a_job_directory_that_others_may_write_to) {
  const test::TempDirectory root("/dev/shm");
  fs::create_directory(root.path() + "/heat");
  fs::permissions(root.path() + "/heat", fs::perms::all);
  const auto store = PosixStore::open(root.path(), "heat");
  EXPECT_THAT(store, Fails(Code::io, {root.path() + "/heat", "mode 777", "chmod 700"}));
}

TEST(PosixStore, refuses_a_job_directory_of_another_user) {
  const test::TempDirectory root("/dev/shm");
  fs::create_directory(root.path() + "/heat");
  constexpr uid_t kSomebody = 12345;
  ASSERT_EQ(::chown((root.path() + "/heat").c_str(), kSomebody, kSomebody), 0) << "this test must run as root";
  const auto store = PosixStore::open(root.path(), "heat");
  EXPECT_THAT(store, Fails(Code::io, {root.path() + "/heat", "user 12345"}));
}

TEST(PosixStore, a_full_store_is_an_error_that_names_bytes) {
  const test::SmallTmpfs tmpfs("size=2m");
  ASSERT_TRUE(tmpfs.mounted());
  const auto store = open_store(tmpfs.path());
  const auto writer = store->create(kShard, 4 * kMiB, "rank0");
  EXPECT_THAT(writer, Fails(Code::no_space, {"v1/rank0", "4194304"}));
  EXPECT_TRUE(pool_of(tmpfs.path()).empty());
}

TEST(PosixStore, a_shared_file_that_does_not_fit_is_an_error_and_takes_nothing_from_others) {
  const test::SmallTmpfs tmpfs("size=2m");
  ASSERT_TRUE(tmpfs.mounted());
  const auto store = open_store(tmpfs.path());
  ASSERT_TRUE(put(*store, kShard, kMiB, std::byte{1}, "rank0"));
  ASSERT_TRUE(store->retire(kShard, "rank0"));
  const auto shared = store->share(kShard, 2 * kMiB);
  EXPECT_THAT(shared, Fails(Code::no_space, {"v1/rank0"}));
  EXPECT_TRUE(store->list(DirName{"v1"})->empty());
  EXPECT_EQ(pool_of(tmpfs.path()).size(), 1U);
}

TEST(PosixStore, growth_that_finds_the_store_full_is_an_error_and_never_a_signal) {
  const test::SmallTmpfs tmpfs("size=2m");
  ASSERT_TRUE(tmpfs.mounted());
  const auto store = open_store(tmpfs.path());
  auto writer = store->create(kShard, kMiB, "rank0");
  ASSERT_TRUE(writer);
  EXPECT_EQ((*writer)->write(kMiB, Buffer(4 * kMiB)).error().code, Code::no_space);
  EXPECT_EQ((*writer)->commit(8 * kMiB, false).error().code, Code::no_space);
  writer->reset();
  EXPECT_TRUE(store->list(DirName{"v1"})->empty());
  EXPECT_TRUE(put(*store, kShard, kMiB, std::byte{1}, "rank0"));
}

TEST(PosixStore, a_full_store_gives_up_retired_files_of_others_even_when_they_are_mapped_warm) {
  const test::SmallTmpfs tmpfs("size=2m");
  ASSERT_TRUE(tmpfs.mounted());
  const auto others = open_store(tmpfs.path());
  const auto store = open_store(tmpfs.path());
  constexpr std::size_t kMost = 3 * kMiB / 2;
  ASSERT_TRUE(put(*others, kShard, kMost, std::byte{1}, "rank0"));
  ASSERT_TRUE(others->retire(kShard, "rank0"));
  EXPECT_GE(*store->free_bytes(), kMost);
  EXPECT_TRUE(put(*store, FileName{"v1/rank1"}, kMost, std::byte{2}, "rank1"));
}

TEST(PosixStore, removing_frees_memory_that_is_still_mapped_warm) {
  const test::SmallTmpfs tmpfs("size=2m");
  ASSERT_TRUE(tmpfs.mounted());
  const auto store = open_store(tmpfs.path());
  constexpr std::size_t kMost = 3 * kMiB / 2;
  for (int turn = 0; turn < 4; ++turn) {
    ASSERT_TRUE(put(*store, kShard, kMost, std::byte{1}, "rank0"));
    ASSERT_TRUE(turn % 2 == 0 ? store->remove(kShard) : store->remove_directory(DirName{"v1"}));
  }
}

TEST(PosixStore, a_recycled_file_comes_back_at_the_same_warm_mapping) {
  const test::TempDirectory root("/dev/shm");
  const auto store = open_store(root.path());
  const std::byte* at = nullptr;
  for (int version = 0; version < 5; ++version) {
    auto writer = store->create(kShard, kMiB, "rank0");
    ASSERT_TRUE(writer);
    const MutableBytes mapped = (*writer)->mapping();
    ASSERT_EQ(mapped.size(), kMiB);
    if (version > 0) {
      EXPECT_EQ(mapped.data(), at);
    }
    at = mapped.data();
    std::fill(mapped.begin(), mapped.end(), static_cast<std::byte>(version));
    ASSERT_TRUE((*writer)->commit(kMiB, false));
    EXPECT_EQ((*store->open(kShard))->mapping()[kMiB - 1], static_cast<std::byte>(version));
    ASSERT_TRUE(store->retire(kShard, "rank0"));
  }
  EXPECT_EQ(pool_of(root.path()).size(), 1U);
}

TEST(PosixStore, a_retired_file_that_is_being_written_again_is_nobody_elses) {
  const test::TempDirectory root("/dev/shm");
  const auto store = open_store(root.path());
  const auto others = open_store(root.path());
  ASSERT_TRUE(put(*store, kShard, kMiB, std::byte{1}, "rank0"));
  ASSERT_TRUE(store->retire(kShard, "rank0"));
  auto writer = store->create(kShard, kMiB, "rank0");
  ASSERT_TRUE(writer);
  const MutableBytes mapped = (*writer)->mapping();
  std::fill(mapped.begin(), mapped.end(), std::byte{2});
  ASSERT_TRUE(others->clean());
  ASSERT_TRUE(put(*others, FileName{"v1/other"}, kMiB, std::byte{3}, "rank0"));
  ASSERT_TRUE((*writer)->commit(kMiB, false));
  EXPECT_EQ((*store->open(kShard))->mapping()[kMiB - 1], std::byte{2});
  ASSERT_TRUE(others->retire(kShard, "rank0"));
  ASSERT_TRUE(others->clean());
  EXPECT_TRUE(pool_of(root.path()).empty()) << "whoever wrote it last has let go of it";
}

TEST(PosixStore, a_mapping_in_use_outlives_the_bound_on_warm_mappings_and_the_store) {
  const test::TempDirectory root("/dev/shm");
  auto store = open_store(root.path(), PosixOptions{0, std::chrono::milliseconds(0)});
  auto writer = store->create(kShard, kMiB, "rank0");
  ASSERT_TRUE(writer);
  ASSERT_TRUE(put(*store, FileName{"v1/rank1"}, kMiB, std::byte{1}, "rank1"));
  store.reset();
  std::fill((*writer)->mapping().begin(), (*writer)->mapping().end(), std::byte{7});
  ASSERT_TRUE((*writer)->commit(kMiB, false));
  EXPECT_EQ((*open_store(root.path())->open(kShard))->mapping()[5], std::byte{7});
}

TEST(PosixStore, a_dropped_writer_gives_a_recycled_file_back_and_removes_a_new_one) {
  const test::TempDirectory root("/dev/shm");
  const auto store = open_store(root.path());
  ASSERT_TRUE(store->create(kShard, 100, "rank0"));
  EXPECT_TRUE(pool_of(root.path()).empty());
  ASSERT_TRUE(put(*store, kShard, 100, std::byte{1}, "rank0"));
  ASSERT_TRUE(store->retire(kShard, "rank0"));
  ASSERT_TRUE(store->create(kShard, 100, "rank0"));
  ASSERT_EQ(pool_of(root.path()).size(), 1U);
  EXPECT_THAT(pool_of(root.path())[0], testing::EndsWith(".free"));
}

TEST(PosixStore, the_smallest_retired_file_that_is_large_enough_is_taken) {
  const test::TempDirectory root("/dev/shm");
  const auto store = open_store(root.path());
  for (const std::size_t size : {100, 5000, 9000}) {
    ASSERT_TRUE(
        put(*store, FileName{"v1/r" + std::to_string(size)}, size, static_cast<std::byte>(size / 100), "rank0"));
  }
  for (const std::string name : {"v1/r100", "v1/r5000", "v1/r9000"})
    ASSERT_TRUE(store->retire(FileName{name}, "rank0"));
  auto writer = store->create(kShard, 4500, "rank0");
  ASSERT_TRUE(writer);
  std::byte last{};
  ASSERT_TRUE((*writer)->read(4499, MutableBytes(&last, 1)));
  EXPECT_EQ(last, std::byte{50});
}

TEST(PosixStore, clean_removes_what_a_dead_writer_left) {
  const test::TempDirectory root("/dev/shm");
  const auto store = open_store(root.path());
  const int left = in_child([&] {
    auto writer = open_store(root.path())->create(kShard, 100, "rank0");
    ::_exit(writer ? 0 : 1);  // without a destructor, like a process that is killed
    return 1;
  });
  ASSERT_EQ(left, 0);
  ASSERT_EQ(pool_of(root.path()).size(), 1U);
  ASSERT_TRUE(store->clean());
  EXPECT_TRUE(pool_of(root.path()).empty());
}

TEST(PosixStore, a_second_process_does_not_get_the_lock_and_is_told_who_has_it) {
  const test::TempDirectory root("/dev/shm");
  const auto store = open_store(root.path());
  const auto lock = store->lock();
  ASSERT_TRUE(lock);
  const std::string holder = "process " + std::to_string(::getpid());
  const int answer = in_child([&] {
    const auto second = open_store(root.path())->lock();
    if (second || second.error().code != Code::taken_over) return 1;
    const std::string& message = second.error().message;
    return test::has_thing(message, root.path() + "/heat/lock") && test::has_thing(message, holder) ? 0 : 2;
  });
  EXPECT_EQ(answer, 0);
}

// A process that the holder has started may hold the lock longer than the holder lives.
TEST(PosixStore, a_lock_names_no_process_that_has_ended_or_is_of_another_host_as_one_of_here) {
  const test::TempDirectory root("/dev/shm");
  const auto store = open_store(root.path());
  const auto lock = store->lock();
  ASSERT_TRUE(lock);
  const std::string file = root.path() + "/heat/lock";
  std::int32_t process = 0;
  std::uint64_t started = 0;
  std::string host;
  std::ifstream(file) >> process >> started >> host;
  EXPECT_EQ(process, ::getpid());
  const auto said_of = [&](const std::string& text) {
    std::ofstream(file) << text;
    const auto second = open_store(root.path())->lock();
    return second ? std::string() : second.error().message;
  };
  EXPECT_TRUE(said_of(std::to_string(process) + " 1 elsewhere\n")
                  .ends_with(fmt::format("process {} on host elsewhere", process)));
  EXPECT_TRUE(said_of(fmt::format("{} {} {}\n", process, started + 1, host)).ends_with("started, which has ended"));
  EXPECT_TRUE(
      said_of(std::to_string(process) + "\n").ends_with(fmt::format("process {}", process)));  // of older versions
  EXPECT_TRUE(said_of("?").ends_with("another process"));
}

TEST(PosixStore, the_lock_of_a_process_that_died_comes_free) {
  const test::TempDirectory root("/dev/shm");
  const auto store = open_store(root.path());
  const int died = in_child([&] {
    const auto lock = open_store(root.path())->lock();
    ::_exit(lock ? 0 : 1);
    return 1;
  });
  ASSERT_EQ(died, 0);
  EXPECT_TRUE(store->lock());
}

// As a worker of Python's multiprocessing does.
TEST(PosixStore, the_lock_of_a_process_that_died_comes_free_though_it_has_forked) {
  const test::TempDirectory root("/dev/shm");
  const auto store = open_store(root.path());
  std::array<int, 2> ends{};   // that this test closes
  std::array<int, 2> ready{};  // into which the child of the child writes
  ASSERT_EQ(::pipe(ends.data()), 0);
  ASSERT_EQ(::pipe(ready.data()), 0);
  const int died = in_child([&] {
    const auto held = open_store(root.path());
    auto lock = held->lock();
    if (!lock) return 1;
    char byte = 0;
    if (::fork() == 0) {
      ::close(ends[1]);
      (*lock).reset();
      if (::write(ready[1], &byte, 1) != 1) ::_exit(1);
      ::_exit(::read(ends[0], &byte, 1) == 0 ? 0 : 1);
    }
    if (::read(ready[0], &byte, 1) != 1) ::_exit(3);
    const bool is_held = store->lock().error().code == Code::taken_over;
    ::_exit(is_held ? 0 : 2);
    return 4;
  });
  EXPECT_EQ(died, 0) << "1: not locked; 2: lost as it forked";
  EXPECT_TRUE(store->lock());
  for (const int end : {ends[0], ends[1], ready[0], ready[1]}) ::close(end);
}

TEST(PosixStore, a_bell_is_heard_in_another_process) {
  const test::TempDirectory root("/dev/shm");
  const auto bell = open_store(root.path())->bell();
  ASSERT_TRUE(bell);
  const std::uint32_t seen = (*bell)->rings(Bell::Who::ranks);
  const pid_t child = ::fork();
  if (child == 0) {
    const auto own = PosixStore::open(root.path(), "heat");
    const auto own_bell = (*own)->bell();
    (*own_bell)->wait(Bell::Who::head, 0, std::chrono::hours(1));
    (*own_bell)->ring(Bell::Who::ranks);
    ::_exit(0);
  }
  (*bell)->ring(Bell::Who::head);
  (*bell)->wait(Bell::Who::ranks, seen, std::chrono::hours(1));
  EXPECT_EQ((*bell)->rings(Bell::Who::ranks), seen + 1);
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

// How somebody may remove a store under a running job.
void remove_all_of(const std::string& directory) { fs::remove_all(directory); }
void remove_what_is_in(const std::string& directory) {
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator(directory)) paths.push_back(entry.path());
  for (const fs::path& path : paths) fs::remove_all(path);
}
constexpr void (*kRemovals[])(const std::string&) = {remove_all_of, remove_what_is_in};

TEST(PosixStore, that_is_removed_is_made_again_empty_for_all_who_share_it) {
  for (const std::string place : {"/dev/shm", "/var/tmp"}) {
    for (const auto& remove : kRemovals) {
      const test::TempDirectory root(place);
      const auto rank = open_store(root.path());
      const auto head = open_store(root.path());
      const auto lock = head->lock();
      ASSERT_TRUE(lock);
      const auto bells = {rank->bell(), head->bell()};
      ASSERT_TRUE(put(*rank, kShard, 100, std::byte{1}, "rank0"));
      remove(root.path() + "/heat");

      EXPECT_EQ(rank->open(kShard).error().code, Code::not_found);
      const Status kept = put(*rank, FileName{"v2/rank0"}, 100, std::byte{2}, "rank0");
      ASSERT_TRUE(kept) << kept.error().text();
      EXPECT_EQ(head->list(DirName{})->size(), 1U);
      EXPECT_TRUE(head->open(FileName{"v2/rank0"}));
      EXPECT_TRUE(head->retire(FileName{"v2/rank0"}, "rank0"));
      EXPECT_TRUE(put(*rank, FileName{"v3/rank0"}, 100, std::byte{3}, "rank0"));
      EXPECT_TRUE(pool_of(root.path()).empty()) << "the retired file was taken";
      EXPECT_EQ(open_store(root.path())->lock().error().code, Code::taken_over) << "the lock goes along";
      (*bells.begin())->get()->ring(Bell::Who::head);
      EXPECT_EQ((*(bells.begin() + 1))->get()->rings(Bell::Who::head), 1U);
    }
  }
}

TEST(PosixStore, that_is_removed_while_a_file_is_written_is_a_fault_of_storage_and_goes_on) {
  for (const auto& remove : kRemovals) {
    const test::TempDirectory root("/dev/shm");
    const auto store = open_store(root.path());
    auto writer = store->create(kShard, 100, "rank0");
    ASSERT_TRUE(writer);
    remove(root.path() + "/heat");
    const Status lost = (*writer)->commit(100, false);
    EXPECT_THAT(lost, Fails(Code::io, {"heat/v1/rank0"}));
    writer->reset();
    EXPECT_TRUE(put(*store, kShard, 100, std::byte{1}, "rank0"));
  }
}

TEST(PosixStore, whose_pool_alone_is_removed_keeps_its_files_and_its_lock) {
  const test::TempDirectory root("/dev/shm");
  const auto store = open_store(root.path());
  const auto lock = store->lock();
  ASSERT_TRUE(lock);
  ASSERT_TRUE(put(*store, kShard, 100, std::byte{1}, "rank0"));
  fs::remove_all(root.path() + "/heat/recycle");
  const Status kept = put(*store, FileName{"v2/rank0"}, 100, std::byte{2}, "rank0");
  ASSERT_TRUE(kept) << kept.error().text();
  EXPECT_TRUE(store->open(kShard));
  EXPECT_EQ(open_store(root.path())->lock().error().code, Code::taken_over);
}

TEST(PosixStore, that_is_removed_gives_its_memory_back) {
  const test::SmallTmpfs tmpfs("size=2m");
  ASSERT_TRUE(tmpfs.mounted());
  const auto store = open_store(tmpfs.path());
  constexpr std::size_t kMost = 3 * kMiB / 2;
  for (int turn = 0; turn < 3; ++turn) {
    const Status kept = put(*store, kShard, kMost, std::byte{1}, "rank0");
    ASSERT_TRUE(kept) << kept.error().text();
    fs::remove_all(tmpfs.path() + "/heat");
  }
}

TEST(PosixStore, maps_files_on_tmpfs_that_are_to_be_overwritten_and_no_others) {
  const test::TempDirectory memory("/dev/shm");
  const test::TempDirectory disk("/var/tmp");
  for (const bool is_memory : {true, false}) {
    for (const std::string owner : {"rank0", ""}) {
      const auto store = open_store((is_memory ? memory : disk).path());
      const auto writer = store->create(FileName{"file"}, 5000, owner);
      ASSERT_TRUE(writer) << writer.error().text();
      EXPECT_EQ((*writer)->mapping().size(), is_memory && !owner.empty() ? 5000U : 0U);
    }
  }
}

TEST(PosixStore, a_new_file_without_an_owner_that_finds_the_store_full_is_an_error_and_leaves_nothing) {
  const test::SmallTmpfs tmpfs("size=2m");
  ASSERT_TRUE(tmpfs.mounted());
  const auto store = open_store(tmpfs.path());
  auto writer = store->create(kShard, 4 * kMiB, "");
  ASSERT_TRUE(writer);
  EXPECT_TRUE((*writer)->write(0, Buffer(kMiB)));
  const auto full = (*writer)->write(kMiB, Buffer(3 * kMiB));
  EXPECT_THAT(full, Fails(Code::no_space, {"v1/rank0"}));
  EXPECT_EQ((*writer)->commit(4 * kMiB, false).error().code, Code::no_space);
  writer->reset();
  EXPECT_TRUE(store->list(DirName{"v1"})->empty());
  EXPECT_TRUE(pool_of(tmpfs.path()).empty());
}

}  // namespace
}  // namespace cairn
