// The recycle pool of a POSIX store among several processes: whoever has claimed or committed a file has it for
// itself, whatever others do with the pool at that moment.
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "contract/sample_store.hpp"
#include "store/posix/posix_disposal.hpp"
#include "store/posix/posix_store.hpp"
#include "support/facts.hpp"
#include "support/small_tmpfs.hpp"
#include "support/temp_directory.hpp"

namespace cairn {
namespace {

using test::Fails;

constexpr std::size_t kFileBytes = 16 * kKiB;
constexpr int kTurns = 4'000;

enum Answer { kWell, kNotOpened, kNotWritten, kLost, kNotRetired };

// Runs `child` in a process of its own, which ends with this one.
pid_t start(const std::function<int()>& child) {
  const pid_t process = ::fork();
  if (process != 0) return process;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::_exit(child());
}

int wait_for(pid_t process) {
  int status = -1;
  while (::waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

std::string text_of_end(int status) {
  if (WIFSIGNALED(status)) return "signal " + std::to_string(WTERMSIG(status));
  constexpr std::array<const char*, 5> kTexts = {"well", "could not open the store", "could not write",
                                                 "what was committed is not there any more", "could not retire"};
  return kTexts.at(static_cast<std::size_t>(WEXITSTATUS(status)));
}

// Writes, commits, reads back and retires one file again and again, as a rank and its head do.
int write_again_and_again(const std::string& root, int number) {
  const auto store = PosixStore::open(root, "heat");
  if (!store) return kNotOpened;
  const std::string owner = "rank" + std::to_string(number);
  const FileName name{"v1/" + owner};
  for (int turn = 0; turn < kTurns; ++turn) {
    const auto value = static_cast<std::byte>(turn % 255 + 1);
    auto writer = (*store)->create(name, kFileBytes, owner);
    if (!writer) return kNotWritten;
    const MutableBytes mapped = (*writer)->mapping();
    std::fill(mapped.begin(), mapped.end(), value);
    if (!(*writer)->commit(kFileBytes, false)) return kNotWritten;
    const auto reader = (*store)->open(name);
    if (!reader || (*reader)->size_bytes() != kFileBytes) return kLost;
    const Bytes read = (*reader)->mapping();
    if (std::count(read.begin(), read.end(), value) != static_cast<std::ptrdiff_t>(kFileBytes)) return kLost;
    if (!(*store)->retire(name, owner)) return kNotRetired;
  }
  return kWell;
}

// Empties the pool again and again: as the end of a chain does, or as one who finds the store full.
int empty_the_pool(const std::string& root, bool full) {
  const auto store = PosixStore::open(root, "heat");
  if (!store) return kNotOpened;
  constexpr std::uint64_t kTooMuch = std::uint64_t{1} << 50U;
  while (true) {
    if (full && (*store)->create(FileName{"v1/large"}, kTooMuch, "rank9")) return kNotWritten;
    if (!full && !(*store)->clean()) return kNotRetired;
  }
}

void expect_writers_undisturbed(bool full) {
  const test::TempDirectory root("/dev/shm");
  std::array<pid_t, 2> writers{};
  std::array<pid_t, 2> cleaners{};
  for (int i = 0; i < 2; ++i) {
    writers.at(static_cast<std::size_t>(i)) = start([&] { return write_again_and_again(root.path(), i); });
    cleaners.at(static_cast<std::size_t>(i)) = start([&] { return empty_the_pool(root.path(), full); });
  }
  for (const pid_t writer : writers) EXPECT_EQ(text_of_end(wait_for(writer)), "well");
  for (const pid_t cleaner : cleaners) {
    ::kill(cleaner, SIGKILL);
    EXPECT_EQ(text_of_end(wait_for(cleaner)), "signal 9") << "it should have gone on until now";
  }
}

TEST(PosixPool, that_is_cleaned_leaves_alone_what_others_have_claimed_or_committed) {
  expect_writers_undisturbed(false);
}

TEST(PosixPool, that_is_emptied_for_a_full_store_leaves_alone_what_others_have_claimed_or_committed) {
  expect_writers_undisturbed(true);
}

// A process that is killed while it writes `size_bytes` bytes.
void leave_half_a_file(const std::string& root, std::size_t size_bytes) {
  const int status = wait_for(start([&] {
    const auto store = PosixStore::open(root, "heat");
    const auto writer = (*store)->create(FileName{"v1/half"}, size_bytes, "rank0");
    ::_exit(writer ? kWell : kNotWritten);  // without a destructor
    return kWell;
  }));
  ASSERT_EQ(text_of_end(status), "well");
}

void write_letters(Store& store, const FileName& name, char letter) {
  auto writer = store.create(name, kFileBytes, "rank0");
  ASSERT_TRUE(writer) << writer.error().text();
  const std::string text(kFileBytes, letter);
  ASSERT_TRUE((*writer)->write(0, bytes_of(text)));
  ASSERT_TRUE((*writer)->commit(kFileBytes, false));
}

void expect_letters(const std::string& file, char letter) {
  std::ifstream in(file, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  EXPECT_EQ(text.size(), kFileBytes) << file;
  EXPECT_EQ(std::ranges::count(text, letter), static_cast<std::ptrdiff_t>(text.size())) << file;
}

// Such as a user gives it who keeps a snapshot by `cp -al`, and a file system that does not rename in one step when its
// power goes.
TEST(PosixPool, overwrites_and_empties_no_file_that_has_another_name) {
  namespace fs = std::filesystem;
  for (const char* parent : {"/dev/shm", "/var/tmp"}) {
    SCOPED_TRACE(parent);
    const test::TempDirectory root(parent);
    const std::string job = root.path() + "/heat";
    const auto kept = [&](const std::string& file) { return root.path() + "/" + file; };
    const auto store = PosixStore::open(root.path(), "heat").value();
    write_letters(*store, FileName{"v1/rank0"}, 'a');
    fs::create_hard_link(job + "/v1/rank0", kept("before_it_was_retired"));
    ASSERT_TRUE(store->retire(FileName{"v1/rank0"}, "rank0"));
    write_letters(*store, FileName{"v2/rank0"}, 'b');
    expect_letters(kept("before_it_was_retired"), 'a');

    ASSERT_TRUE(store->retire(FileName{"v2/rank0"}, "rank0"));
    std::vector<std::string> free;
    for (const auto& file : fs::directory_iterator(job + "/recycle")) free.push_back(file.path());
    ASSERT_EQ(free.size(), 1U);
    std::ofstream(free.front(), std::ios::binary) << std::string(kFileBytes, 'b');
    fs::create_hard_link(free.front(), kept("while_it_was_free"));
    write_letters(*store, FileName{"v3/rank0"}, 'c');
    expect_letters(kept("while_it_was_free"), 'b');

    fs::create_hard_link(job + "/v3/rank0", kept("before_it_was_removed"));
    ASSERT_TRUE(store->remove(FileName{"v3/rank0"}));
    ASSERT_TRUE(store->clean());
    expect_letters(kept("before_it_was_removed"), 'c');
    expect_letters(kept("while_it_was_free"), 'b');
  }
}

// Else it would make files without end, until the reader is done or the memory is full.
TEST(PosixPool, that_is_warmed_up_waits_for_no_file_that_is_being_read) {
  const test::TempDirectory root("/dev/shm");
  const auto writer = PosixStore::open(root.path(), "heat").value();
  write_letters(*writer, FileName{"v1/rank0"}, 'a');
  const auto reader = writer->open(FileName{"v1/rank0"});
  ASSERT_TRUE(reader) << reader.error().text();
  ASSERT_TRUE(writer->retire(FileName{"v1/rank0"}, "rank0"));
  const auto store = PosixStore::open(root.path(), "heat").value();  // as another process, which has not mapped it
  bool ready = false;
  for (int turn = 0; turn < 10 && !ready; ++turn) ready = store->warm_up("rank0", kFileBytes, 2).value();
  EXPECT_TRUE(ready);
  const std::filesystem::directory_iterator files(root.path() + "/heat/recycle");
  EXPECT_EQ(std::distance(begin(files), end(files)), 2);
}

TEST(PosixPool, that_is_reclaimed_keeps_free_files_and_what_is_being_written) {
  const test::TempDirectory root("/dev/shm");
  const auto store = PosixStore::open(root.path(), "heat").value();
  ASSERT_TRUE(write_text(*store, FileName{"v1/rank1"}, "retired"));
  ASSERT_TRUE(store->retire(FileName{"v1/rank1"}, "rank1"));
  auto writer = store->create(FileName{"v1/rank2"}, 100, "rank2");
  ASSERT_TRUE(writer);
  const auto before = test::pool_of(root.path());
  leave_half_a_file(root.path(), 100);
  std::filesystem::create_directories(root.path() + "/heat/recycle/1.removed/inner");
  const std::string elsewhere = root.path() + "/heat/recycle/nobody.00000000-1.2.writing";
  std::filesystem::create_directory(elsewhere);

  ASSERT_TRUE(store->reclaim(Store::Writers::of_this_host));
  EXPECT_EQ(test::pool_of(root.path()).size(), before.size() + 1) << "of another host nobody knows who lives";
  ASSERT_TRUE(store->reclaim(Store::Writers::of_all_hosts));
  EXPECT_THAT(test::pool_of(root.path()), testing::UnorderedElementsAreArray(before));
  EXPECT_TRUE((*writer)->commit(100, false));
}

TEST(Disposal, says_at_the_next_removal_how_the_last_one_has_ended) {
  posix::Disposal disposal;
  bool removed = false;
  EXPECT_TRUE(disposal.begin([] { return fail(Code::io, "v1: input/output error"); }));
  EXPECT_THAT(disposal.begin([&] {
    removed = true;
    return Status{};
  }),
              Fails(Code::io, {"v1"}));
  disposal.wait();
  EXPECT_TRUE(removed);
  EXPECT_TRUE(disposal.begin([] { return Status{}; }));
}

TEST(PosixPool, gives_a_full_store_back_what_a_dead_writer_left) {
  const test::SmallTmpfs tmpfs("size=2m");
  ASSERT_TRUE(tmpfs.mounted());
  constexpr std::size_t kMost = 3 * kMiB / 2;
  leave_half_a_file(tmpfs.path(), kMost);
  const auto store = PosixStore::open(tmpfs.path(), "heat").value();
  const auto writer = store->create(FileName{"v1/rank1"}, kMost, "rank1");
  EXPECT_TRUE(writer) << writer.error().text();
}

// Makes files until the file system has no inode for another; returns how many.
int take_all_inodes(const std::string& root) {
  for (int files = 0;; ++files) {
    std::ofstream file(root + "/" + std::to_string(files));
    if (!file.is_open()) return files;
  }
}

TEST(PosixPool, gives_a_store_without_free_inodes_those_of_free_files) {
  const test::SmallTmpfs tmpfs("size=2m,nr_inodes=40");
  ASSERT_TRUE(tmpfs.mounted());
  const auto store = PosixStore::open(tmpfs.path(), "heat").value();
  for (const std::string name : {"a", "b", "c", "d", "e"}) ASSERT_TRUE(write_text(*store, FileName{name}, "text"));
  for (const std::string name : {"a", "b"}) ASSERT_TRUE(store->retire(FileName{name}, "rank0"));
  ASSERT_GT(take_all_inodes(tmpfs.path()), 0);
  // A directory and a file in it; the owner's own free files are of no use to another.
  const Status kept = write_text(*store, FileName{"v1/manifest"}, "text");
  ASSERT_TRUE(kept) << kept.error().text();
  ASSERT_TRUE(store->retire(FileName{"c"}, "rank0"));
  EXPECT_TRUE(store->lock());
  ASSERT_TRUE(store->retire(FileName{"d"}, "rank0"));
  EXPECT_TRUE(store->bell());
  const auto refused = store->create(FileName{"v1/more"}, 1, {});
  EXPECT_THAT(refused, Fails(Code::no_space, {"inode"}));
}

}  // namespace
}  // namespace cairn
