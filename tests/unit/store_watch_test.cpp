// What a head finds out about its node's store.
#include "engine/store_watch.hpp"

#include <chrono>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/memory/memory_store.hpp"
#include "support/hooked_store.hpp"

namespace cairn::test {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

class RoomyStore final : public HookedStore {
 public:
  explicit RoomyStore(const std::uint64_t& free)
      : HookedStore(std::make_shared<MemoryStore>(), [](const Operation&) -> Status { return {}; }), free_(free) {}
  Result<std::uint64_t> free_bytes() const override { return free_; }

 private:
  const std::uint64_t& free_;
};

class StoreWatched : public testing::Test {
 protected:
  void seal(std::uint32_t version, std::uint64_t bytes, std::optional<Code> failure = {}) {
    Seal seal;
    seal.version = Version{version};
    seal.bytes = failure ? 0 : bytes;
    if (failure) seal.error = Error{*failure, "refused", {}};
    watch.note_write(seal);
  }
  // The kinds of symptoms that are found.
  std::vector<SymptomKind> look_for(seconds time) {
    std::vector<SymptomKind> kinds;
    for (int i = 0; i < time.count(); ++i) {
      now += seconds(1);
      for (const auto& found : watch.look(now)) kinds.push_back(found.kind);
    }
    return kinds;
  }
  [[nodiscard]] localize::NodeState state() const {
    localize::NodeState state;
    watch.fill(state, now);
    return state;
  }
  StoreWatch::Time now{};
  std::uint64_t free = 1000;
  std::shared_ptr<StoreCounts> counts = std::make_shared<StoreCounts>();
  StoreWatch watch{counts, std::make_shared<RoomyStore>(free)};
};

TEST_F(StoreWatched, each_failed_operation_is_a_symptom) {
  counts->count(StoreCounts::Outcome::other);
  counts->count(StoreCounts::Outcome::failed);
  seal(1, 0, Code::io);
  EXPECT_THAT(look_for(seconds(1)), testing::Each(SymptomKind::store_error));
  EXPECT_EQ(state().store_failed, 2);
  EXPECT_EQ(state().store_operations, 3);
  EXPECT_TRUE(look_for(seconds(30)).empty());
}

TEST_F(StoreWatched, symptoms_tell_the_last_error) {
  const auto error = [&] {
    now += seconds(1);
    const auto found = watch.look(now);
    return found.empty() ? "none" : found.back().error;
  };
  counts->count(StoreCounts::Outcome::failed);
  counts->note_error("token: Input/output error");
  EXPECT_EQ(error(), "token: Input/output error");
  EXPECT_EQ(error(), "none");
  seal(1, 0, Code::io);
  EXPECT_EQ(error(), "refused");
}

TEST_F(StoreWatched, failures_count_for_ten_minutes) {
  seal(1, 0, Code::io);
  look_for(seconds(1));
  now += minutes(11);
  look_for(seconds(1));
  EXPECT_EQ(state().store_failed, 0);
}

TEST_F(StoreWatched, an_operation_that_finds_no_room_is_a_symptom) {
  seal(1, 0, Code::no_space);
  counts->count(StoreCounts::Outcome::refused);
  EXPECT_EQ(look_for(seconds(1)), (std::vector{SymptomKind::store_full, SymptomKind::store_full}));
  EXPECT_EQ(state().store_refused, 2);
  EXPECT_EQ(state().store_failed, 0);
}

TEST_F(StoreWatched, a_store_without_room_for_the_next_snapshot_is_full_before_a_write_fails) {
  seal(1, 300);
  seal(1, 300);
  EXPECT_TRUE(look_for(seconds(60)).empty());
  EXPECT_NEAR(state().store_room, 1000.0 / 600, 0.001);
  free = 150;
  EXPECT_THAT(look_for(seconds(60)), testing::Contains(SymptomKind::store_full).Times(testing::Ge(2)));
  EXPECT_EQ(state().store_room, 0.25);
  EXPECT_EQ(state().store_free, 150);
  free = 1000;
  EXPECT_TRUE(look_for(seconds(60)).empty());
}

TEST_F(StoreWatched, says_how_much_was_free_when_a_write_found_no_room) {
  free = 1000;
  counts->count(StoreCounts::Outcome::refused);
  counts->note_free(7);
  (void)look_for(seconds(10));
  EXPECT_EQ(state().store_free, 7);
}

// Until the older one is retired.
TEST_F(StoreWatched, a_store_that_is_full_while_a_snapshot_is_written_is_well) {
  seal(1, 600);
  for (int i = 0; i < 5; ++i) {
    free = 0;
    EXPECT_TRUE(look_for(seconds(20)).empty());
    EXPECT_GE(state().store_room, 1);
    free = 600;
    EXPECT_TRUE(look_for(seconds(20)).empty());
  }
}

TEST_F(StoreWatched, nothing_is_known_before_the_first_snapshot) {
  free = 0;
  EXPECT_TRUE(look_for(seconds(60)).empty());
  EXPECT_LT(state().store_room, 0);
}

}  // namespace
}  // namespace cairn::test
