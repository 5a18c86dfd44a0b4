// What a store in memory promises besides the contract.
#include "store/memory/memory_store.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "contract/sample_store.hpp"
#include "support/facts.hpp"

namespace cairn {
namespace {

using test::Fails;
using test::kShard;

TEST(MemoryStore, a_full_store_is_an_error_that_names_bytes_and_takes_nothing) {
  MemoryStore store(10'000);
  const auto writer = store.create(kShard, 10'001, {});
  EXPECT_THAT(writer, Fails(Code::no_space, {"10001", "10000"}));
  EXPECT_EQ(*store.free_bytes(), 10'000U);
}

TEST(MemoryStore, a_full_store_gives_up_retired_files_of_any_owner) {
  MemoryStore store(10'000);
  auto writer = store.create(kShard, 8000, "rank0");
  ASSERT_TRUE(writer && (*writer)->commit(8000, false));
  ASSERT_TRUE(store.retire(kShard, "rank0"));
  EXPECT_TRUE(store.create(kShard, 9000, "rank1"));
  EXPECT_EQ(*store.free_bytes(), 10'000U);
}

TEST(MemoryStore, a_shared_file_that_does_not_fit_is_an_error_and_takes_nothing_from_others) {
  MemoryStore store(10'000);
  auto writer = store.create(kShard, 8000, "rank0");
  ASSERT_TRUE(writer && (*writer)->commit(8000, false));
  ASSERT_TRUE(store.retire(kShard, "rank0"));
  EXPECT_THAT(store.share(kShard, 9000), Fails(Code::no_space, {"9000", "2000"}));
  EXPECT_TRUE(store.share(kShard, 2000));
  EXPECT_EQ(*store.free_bytes(), 8000U);
}

TEST(MemoryStore, a_wiped_store_has_nothing_and_takes_nothing_begun_before) {
  MemoryStore store;
  ASSERT_TRUE(write_text(store, FileName{"v1/a"}, "text"));
  auto writer = store.create(kShard, 10, {});
  ASSERT_TRUE(writer);
  store.wipe();
  EXPECT_TRUE(store.list(DirName{})->empty());
  EXPECT_EQ((*writer)->commit(10, false).error().code, Code::io);
  EXPECT_TRUE(store.list(DirName{})->empty());
}

TEST(MemoryStore, damage_for_tests_changes_one_byte_or_the_length) {
  MemoryStore store;
  ASSERT_TRUE(write_text(store, kShard, "abcdef"));
  ASSERT_TRUE(store.corrupt(kShard, 2));
  EXPECT_EQ(*read_text(store, kShard), "absdef");
  ASSERT_TRUE(store.truncate(kShard, 3));
  EXPECT_EQ(*read_text(store, kShard), "abs");
  EXPECT_EQ(store.corrupt(kShard, 3).error().code, Code::invalid_argument);
}

}  // namespace
}  // namespace cairn
