#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "session/slot_warmer.hpp"
#include "store/names.hpp"
#include "store/posix/posix_store.hpp"
#include "support/no_threads.hpp"
#include "support/temp_directory.hpp"

namespace cairn {
namespace {

constexpr std::uint64_t kBytes = 3 * kMiB;
constexpr std::uint32_t kSlots = 3;

// How many files of that size the store has ready: asking for one more than there are makes another.
bool has_ready(Store& store, std::uint32_t slots) {
  return store.warm_up(names::owner_rank(Rank{0}), kBytes, slots).value();
}

TEST(SlotWarmer, makes_as_many_slots_ready_as_are_free_and_no_more) {
  const test::TempDirectory root("/dev/shm");
  const auto store = *PosixStore::open(root.path(), "job");
  SlotWarmer warmer(store, Rank{0});
  warmer.run(kSlots);
  EXPECT_FALSE(has_ready(*store, 1)) << "nobody said how large";
  warmer.want(kBytes);
  // However often it is stopped, each turn gets one further.
  for (std::uint32_t turn = 0; turn <= kSlots; ++turn) {
    warmer.run(kSlots);
    warmer.pause();
  }
  EXPECT_TRUE(has_ready(*store, kSlots));
  EXPECT_FALSE(has_ready(*store, kSlots + 1));
}

// Looks only: has_ready() makes a slot where there is none.
int slots_of(const std::string& root, std::uint64_t bytes) {
  int count = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
    if (entry.is_regular_file() && entry.file_size() == bytes) ++count;
  }
  return count;
}

TEST(SlotWarmer, makes_slots_of_another_size_ready_once_shards_of_it_have_come_twice) {
  const test::TempDirectory root("/dev/shm");
  const auto store = *PosixStore::open(root.path(), "job");
  SlotWarmer warmer(store, Rank{0});
  const auto wrote = [&](std::uint64_t bytes) {
    warmer.pause();
    warmer.wrote(bytes);
    warmer.run(1);
    warmer.pause();
  };
  wrote(kBytes + kMiB);
  EXPECT_EQ(slots_of(root.path(), kBytes + kMiB), 1) << "the first: no other size is known";
  wrote(kBytes);
  wrote(kBytes + kMiB);
  wrote(kBytes);
  EXPECT_EQ(slots_of(root.path(), kBytes), 0) << "never twice in a row";
  wrote(kBytes);
  EXPECT_EQ(slots_of(root.path(), kBytes), 1);
}

TEST(SlotWarmer, gives_up_without_a_word_where_there_is_no_room) {
  const test::TempDirectory root("/dev/shm");
  const auto store = *PosixStore::open(root.path(), "job");
  SlotWarmer warmer(store, Rank{0});
  warmer.want(std::uint64_t{1} << 60U);
  warmer.run(kSlots);
  warmer.pause();
  EXPECT_FALSE(has_ready(*store, 1));
}

TEST(SlotWarmer, makes_no_slot_ready_where_there_is_no_thread_for_it) {
  const test::TempDirectory root("/dev/shm");
  const auto store = *PosixStore::open(root.path(), "job");
  SlotWarmer warmer(store, Rank{0});
  warmer.want(kBytes);
  {
    const test::NoThreads none;
    EXPECT_NO_THROW(warmer.run(kSlots));
  }
  warmer.pause();
  EXPECT_FALSE(has_ready(*store, 1));
}

}  // namespace
}  // namespace cairn
