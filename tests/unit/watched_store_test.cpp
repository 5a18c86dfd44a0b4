// Operations of a watched store are counted, and so are those that fail with an error of input or output.
#include "store/watched_store.hpp"

#include <gtest/gtest.h>

#include "store/memory/memory_store.hpp"
#include "support/hooked_store.hpp"

namespace cairn::test {
namespace {

const FileName kFile{"v00000001-0000000000000001/rank000000.shard"};

struct Watched {
  explicit Watched(std::optional<Code> fails = std::nullopt) {
    const auto hook = [fails](const HookedStore::Operation& /*operation*/) -> Status {
      if (fails) return fail(*fails, "refused");
      return {};
    };
    store = watch_store(std::make_shared<HookedStore>(std::make_shared<MemoryStore>(1000), hook), counts);
  }
  std::shared_ptr<StoreCounts> counts = std::make_shared<StoreCounts>();
  std::shared_ptr<Store> store;
};

TEST(WatchedStore, counts_operations_and_leaves_them_as_they_are) {
  const Watched watched;
  ASSERT_TRUE(write_text(*watched.store, kFile, "text"));
  EXPECT_EQ(read_text(*watched.store, kFile).value(), "text");
  EXPECT_GE(watched.counts->operations(), 4U) << "create, write, commit, open";
  EXPECT_EQ(watched.counts->failed(), 0U);
}

TEST(WatchedStore, counts_errors_of_input_and_output) {
  const Watched watched(Code::io);
  EXPECT_FALSE(write_text(*watched.store, kFile, "text"));
  EXPECT_EQ(watched.counts->failed(), 1U);
}

// When somebody looks later, what had been written so far is free again.
TEST(WatchedStore, notes_how_much_was_free_when_there_was_no_room) {
  EXPECT_FALSE(Watched().counts->free_when_refused());
  const Watched full(Code::no_space);
  EXPECT_FALSE(write_text(*full.store, kFile, "text"));
  EXPECT_EQ(full.counts->free_when_refused(), full.store->free_bytes().value());
}

TEST(WatchedStore, takes_a_missing_file_for_no_failure_and_counts_what_finds_no_room_apart) {
  const Watched full(Code::no_space);
  EXPECT_FALSE(write_text(*full.store, kFile, "text"));
  EXPECT_EQ(full.counts->failed(), 0U);
  EXPECT_EQ(full.counts->refused(), 1U);
  const Watched empty;
  EXPECT_FALSE(empty.store->open(kFile));
  EXPECT_EQ(empty.counts->operations(), 1U);
  EXPECT_EQ(empty.counts->failed(), 0U);
}

}  // namespace
}  // namespace cairn::test
