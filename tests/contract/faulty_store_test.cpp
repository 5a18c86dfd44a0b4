// The fault injector of the other tests does what it says.
#include "support/faulty_store.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/memory/memory_store.hpp"
#include "support/facts.hpp"

namespace cairn::test {
namespace {

const FileName kName{"v1/rank0"};

struct Faulty {
  std::shared_ptr<MemoryStore> real = std::make_shared<MemoryStore>();
  std::shared_ptr<FaultPlan> plan = std::make_shared<FaultPlan>();
  FaultyStore store{real, plan};
};

TEST(FaultyStore, counts_every_operation_that_changes_something_and_no_other) {
  Faulty faulty;
  ASSERT_TRUE(write_text(faulty.store, kName, "text"));  // create, write, commit
  EXPECT_EQ(faulty.plan->operations(), 3U);
  ASSERT_TRUE(read_text(faulty.store, kName));
  ASSERT_TRUE(faulty.store.list(DirName{}));
  EXPECT_EQ(faulty.plan->operations(), 3U);
  ASSERT_TRUE(faulty.store.patch(kName, 0, bytes_of("x")));
  ASSERT_TRUE(faulty.store.sync(kName));
  ASSERT_TRUE(faulty.store.rename_directory(DirName{"v1"}, DirName{"v2"}));
  ASSERT_TRUE(faulty.store.retire(FileName{"v2/rank0"}, "rank0"));
  ASSERT_TRUE(faulty.store.remove(kName));
  ASSERT_TRUE(faulty.store.remove_directory(DirName{"v2"}));
  ASSERT_TRUE(faulty.store.clean());
  EXPECT_EQ(faulty.plan->operations(), 10U);
}

TEST(FaultyStore, a_crash_fails_its_operation_and_all_later_ones_until_healed) {
  Faulty faulty;
  faulty.plan->crash_at(2, true);
  const auto written = write_text(faulty.store, kName, "text");
  EXPECT_THAT(written, Fails(Code::io, {"v1/rank0", "injected"}));
  EXPECT_FALSE(faulty.store.remove(kName));
  EXPECT_FALSE(faulty.store.list(DirName{}));
  EXPECT_TRUE(faulty.plan->has_failed());
  EXPECT_TRUE(faulty.real->list(DirName{"v1"})->empty());
  faulty.plan->heal();
  EXPECT_TRUE(write_text(faulty.store, kName, "text"));
}

TEST(FaultyStore, a_crash_tears_the_patch_it_meets_and_nothing_after_it) {
  Faulty faulty;
  ASSERT_TRUE(write_text(*faulty.real, kName, "abcdef"));
  faulty.plan->crash_at(0);
  EXPECT_FALSE(faulty.store.patch(kName, 0, bytes_of("ABCDEF")));
  EXPECT_EQ(*read_text(*faulty.real, kName), "ABCdef");
  EXPECT_FALSE(faulty.store.patch(kName, 0, bytes_of("xyzxyz")));
  EXPECT_EQ(*read_text(*faulty.real, kName), "ABCdef");
}

TEST(FaultyStore, one_failure_is_one_failure) {
  Faulty faulty;
  faulty.plan->inject_code(Code::no_space);
  faulty.plan->fail_once_at(1);
  EXPECT_EQ(write_text(faulty.store, kName, "text").error().code, Code::no_space);
  EXPECT_TRUE(write_text(faulty.store, kName, "text"));
}

TEST(FaultyStore, one_plan_spans_several_stores) {
  Faulty faulty;
  FaultyStore other(std::make_shared<MemoryStore>(), faulty.plan);
  faulty.plan->crash_at(4);
  EXPECT_TRUE(write_text(faulty.store, kName, "text"));
  EXPECT_FALSE(write_text(other, kName, "text"));
  EXPECT_FALSE(faulty.store.remove(kName));
}

TEST(FaultyStore, damaged_reads_are_the_same_every_time_and_follow_the_seed) {
  Faulty faulty;
  ASSERT_TRUE(write_text(faulty.store, kName, std::string(100, 'a')));
  const auto damaged_places = [&](std::uint64_t seed) {
    faulty.plan->flip_bits_on_read(seed, 4);
    const auto reader = faulty.store.open(kName);
    EXPECT_TRUE((*reader)->mapping().empty());
    std::vector<int> places;
    for (int place = 0; place < 100; ++place) {
      std::byte byte{};
      EXPECT_TRUE((*reader)->read(static_cast<std::uint64_t>(place), MutableBytes(&byte, 1)));
      if (byte != static_cast<std::byte>('a')) places.push_back(place);
    }
    return places;
  };
  const auto first = damaged_places(1);
  EXPECT_GT(first.size(), 5U);
  EXPECT_LT(first.size(), 60U);
  EXPECT_EQ(damaged_places(1), first);
  EXPECT_NE(damaged_places(2), first);
  EXPECT_EQ(*read_text(*faulty.real, kName), std::string(100, 'a'));
}

TEST(FaultyStore, a_short_read_is_corrupt) {
  Faulty faulty;
  ASSERT_TRUE(write_text(faulty.store, kName, "text"));
  faulty.plan->shorten_reads(1, 1);
  EXPECT_EQ(read_text(faulty.store, kName).error().code, Code::corrupt);
}

TEST(FaultyStore, a_mapping_is_hidden_from_writers_unless_told_otherwise) {
  Faulty faulty;
  FaultyStore shows(faulty.real, faulty.plan, FaultyStore::Mappings::shown);
  EXPECT_TRUE((*faulty.store.create(kName, 10, {}))->mapping().empty());
  EXPECT_EQ((*shows.create(kName, 10, {}))->mapping().size(), 10U);
}

}  // namespace
}  // namespace cairn::test
