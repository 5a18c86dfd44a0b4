#include "session/regions.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/memory/memory_store.hpp"
#include "support/facts.hpp"
#include "support/sample_shard.hpp"

namespace cairn {
namespace {

using test::Fails;
using testing::ElementsAre;

detail::RegionAccess access_to(int& number) {
  detail::RegionAccess access;
  access.element = Element::int32;
  access.element_bytes = sizeof(int);
  access.object = &number;
  return access;
}

// In the order in which a shard has them.
std::vector<int> captured(Regions& regions) {
  std::vector<int> values;
  const auto capture = regions.capture();
  if (!capture) throw std::runtime_error(capture.error().text());
  for (const Bytes region : capture->regions) values.push_back(*reinterpret_cast<const int*>(region.data()));
  return values;
}

TEST(ProtectedRegions, keep_their_order_when_one_is_forgotten_or_replaced) {
  std::vector<int> numbers{0, 1, 2, 3, 4, 5};
  Regions regions(BlockDigest::crc32c);
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(regions.protect(std::to_string(i), access_to(numbers[i])));
  ASSERT_TRUE(regions.unprotect("1"));
  EXPECT_THAT(captured(regions), ElementsAre(0, 2, 3));
  ASSERT_TRUE(regions.protect("2", access_to(numbers[4])));
  ASSERT_TRUE(regions.protect("1", access_to(numbers[5])));
  EXPECT_THAT(captured(regions), ElementsAre(0, 4, 3, 5));
  EXPECT_FALSE(regions.unprotect("6"));
  for (const char* name : {"3", "0", "1", "2"}) ASSERT_TRUE(regions.unprotect(name));
  EXPECT_TRUE(captured(regions).empty());
}

// If each looked at all the others, this would take longer than any test may.
TEST(ProtectedRegions, many_are_forgotten_one_by_one_without_a_look_at_the_others) {
  constexpr int kRegions = 200'000;
  int number = 7;
  Regions regions(BlockDigest::crc32c);
  for (int i = 0; i < kRegions; ++i) ASSERT_TRUE(regions.protect(std::to_string(i), access_to(number)));
  for (int i = 0; i < kRegions; ++i) ASSERT_TRUE(regions.unprotect(std::to_string(i)));
  EXPECT_TRUE(captured(regions).empty());
}

TEST(ProtectedRegions, are_in_order_whatever_is_protected_and_forgotten) {
  constexpr int kNames = 60;
  constexpr int kCalls = 20'000;
  std::mt19937 random(7);
  int number = 7;
  Regions regions(BlockDigest::crc32c);
  std::vector<std::string> expected;
  for (int i = 0; i < kCalls; ++i) {
    const std::string name = std::to_string(random() % kNames);
    const auto known = std::ranges::find(expected, name);
    // Few for a while, then many.
    if (random() % kCalls < static_cast<unsigned>(i)) {
      ASSERT_TRUE(regions.protect(name, access_to(number)));
      if (known == expected.end()) expected.push_back(name);
    } else {
      ASSERT_EQ(regions.unprotect(name).has_value(), known != expected.end());
      if (known != expected.end()) expected.erase(known);
    }
    ASSERT_EQ(regions.names(), expected) << i;
  }
}

// Each page that a program touches for the first time costs more than all else that protect() does.
TEST(ProtectedRegions, take_few_bytes) { EXPECT_LE(sizeof(ProtectedRegion), 80U); }

detail::RegionAccess access_to(std::vector<int>& numbers) {
  detail::RegionAccess access;
  access.element = Element::int32;
  access.element_bytes = sizeof(int);
  access.object = &numbers;
  access.calls = &detail::kContainerCalls<std::vector<int>>;
  return access;
}

TEST(ProtectedRegions, refuse_kinds_that_a_region_cannot_have) {
  int number = 1;
  std::vector<int> numbers{1, 2};
  Regions regions(BlockDigest::crc32c);
  const auto protect = [&](auto& what, detail::AnyKind kind) {
    auto access = access_to(what);
    access.kind = std::move(kind);
    return regions.protect("x", std::move(access));
  };
  for (const detail::AnyKind& kind :
       {detail::AnyKind(sequence), detail::AnyKind(sequence_part(0, 1)), detail::AnyKind(like("y"))}) {
    EXPECT_THAT(protect(number, kind), test::Fails(Code::invalid_argument, {"\"x\"", "no sequence"}));
    EXPECT_TRUE(protect(numbers, kind));
  }
  for (const char* other : {"", "x"}) EXPECT_FALSE(protect(numbers, like(other)));
  for (const detail::AnyKind& kind : {detail::AnyKind(same), detail::AnyKind(of_rank(3))}) {
    EXPECT_TRUE(protect(number, kind));
    EXPECT_TRUE(protect(numbers, kind));
  }
}

TEST(ProtectedRegions, stay_what_they_are_when_they_get_a_kind) {
  int number = 5;
  std::vector<int> numbers{1, 2};
  Regions regions(BlockDigest::crc32c);
  ASSERT_TRUE(regions.protect("numbers", access_to(numbers)));
  ASSERT_TRUE(regions.protect("number", access_to(number)));
  const ShardPlan before = *regions.plan().value();
  ASSERT_TRUE(regions.set_kind("numbers", like("others")));
  ASSERT_TRUE(regions.set_kind("number", same));
  EXPECT_FALSE(regions.set_kind("number", sequence));
  EXPECT_TRUE(std::holds_alternative<Like>(regions.kind_of("numbers")));
  EXPECT_TRUE(std::holds_alternative<Same>(regions.kind_of("number")));
  EXPECT_TRUE(std::ranges::equal(regions.plan().value()->table(), before.table()));
  EXPECT_THAT(captured(regions), ElementsAre(1, 5));
  numbers = {3, 4, 5};
  EXPECT_EQ(regions.capture()->regions.front().size(), 3 * sizeof(int));
}

TEST(ProtectedRegions, have_a_size_before_they_have_a_plan) {
  int number = 5;
  std::vector<int> numbers(70'000);
  Regions regions(BlockDigest::sha256);
  ASSERT_TRUE(regions.protect("numbers", access_to(numbers)));
  ASSERT_TRUE(regions.protect("number", access_to(number)));
  const std::uint64_t bytes = regions.shard_bytes().value();
  EXPECT_EQ(regions.plan().value()->header().file_bytes(), bytes);
  numbers.resize(140'000);
  EXPECT_GT(regions.shard_bytes().value(), bytes);
  EXPECT_EQ(regions.plan().value()->header().file_bytes(), regions.shard_bytes().value());
}

// An error names regions as they are now; what is written next is as they are now too.
TEST(ProtectedRegions, that_have_grown_are_written_whole_whatever_was_asked_for_before) {
  std::vector<int> numbers(3);
  Regions regions(BlockDigest::crc32c);
  ASSERT_TRUE(regions.protect("numbers", access_to(numbers)));
  ASSERT_EQ(regions.capture()->regions.front().size(), 3 * sizeof(int));
  numbers.resize(5);
  EXPECT_THAT(regions.unprotect("letters"), Fails(Code::invalid_argument, {"letters", "numbers", "int32[5]"}));
  EXPECT_EQ(regions.capture()->regions.front().size(), 5 * sizeof(int));
}

// Regions that begin and end anywhere in the pieces and blocks that a shard is read by.
class RestoredRegions : public testing::Test {
 protected:
  using Values = std::map<std::string, std::vector<int>>;

  RestoredRegions() {
    const std::vector<std::size_t> lengths{1, 0, 100, 20'000, 300'000, 3, 16'384, 700'000, 5};
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      std::vector<int>& values = stored[std::to_string(i)];
      values.resize(lengths[i]);
      std::iota(values.begin(), values.end(), static_cast<int>(i) * 1'000'000);
    }
    Values written = stored;
    Regions regions(BlockDigest::crc32c);
    for (auto& [name, values] : written) EXPECT_TRUE(regions.protect(name, access_to(values)));
    const auto capture = regions.capture();
    EXPECT_TRUE(capture && write_shard(store, kName, test::sample_identity({3}), capture->plan, capture->regions));
  }

  Status restore(Regions& regions, const std::string& only = {}) const {
    return regions.restore(ShardFile::open(store, kName).value(), only);
  }

  const FileName kName{"v00000001-0000000000000001/rank000003.shard"};
  Values stored;
  MemoryStore store;
};

TEST_F(RestoredRegions, are_as_they_were_in_any_order_and_of_any_length_before) {
  for (const bool backwards : {false, true}) {
    for (const bool as_long : {false, true}) {
      Values values;
      for (const auto& [name, was] : stored) values[name].assign(as_long ? was.size() : 0, -1);
      Regions regions(BlockDigest::crc32c);
      std::vector<std::string> names;
      for (const auto& [name, was] : stored) names.insert(backwards ? names.begin() : names.end(), name);
      for (const std::string& name : names) ASSERT_TRUE(regions.protect(name, access_to(values[name])));
      const Status restored = restore(regions);
      ASSERT_TRUE(restored) << restored.error().text();
      EXPECT_EQ(values, stored) << backwards << as_long;
    }
  }
}

TEST_F(RestoredRegions, are_left_alone_but_for_the_one_that_is_asked_for) {
  Values values;
  Regions regions(BlockDigest::crc32c);
  for (const auto& [name, was] : stored) {
    values[name].assign(was.size(), -1);
    ASSERT_TRUE(regions.protect(name, access_to(values[name])));
  }
  ASSERT_TRUE(restore(regions, "3"));
  for (const auto& [name, was] : stored)
    EXPECT_EQ(values[name], name == "3" ? was : std::vector<int>(was.size(), -1)) << name;
}

// Ranks that find this need not read their tables to know that they exchange nothing.
TEST_F(RestoredRegions, are_known_to_be_as_they_were_stored_only_where_all_are) {
  const auto are_as_in = [this](Regions& regions) { return regions.are_as_in(*ShardFile::open(store, kName)).value(); };
  Values values = stored;
  Regions regions(BlockDigest::crc32c);
  for (auto& [name, now] : values) ASSERT_TRUE(regions.protect(name, access_to(now)));
  EXPECT_TRUE(are_as_in(regions));
  values["1"].resize(1);
  EXPECT_FALSE(are_as_in(regions));
  values["1"].clear();
  EXPECT_TRUE(are_as_in(regions));
  ASSERT_TRUE(store.corrupt(kName, kShardHeaderBytes + 10));
  EXPECT_FALSE(are_as_in(regions));
  ASSERT_TRUE(store.corrupt(kName, kShardHeaderBytes + 10));  // turns it back
  ASSERT_TRUE(regions.unprotect("3"));
  EXPECT_FALSE(are_as_in(regions));
}

// The sizes are those of the snapshot, and the elements are not.
TEST(ExchangedRegions, are_exchanged_by_their_kind_alone_where_nothing_else_differs) {
  std::vector<int> numbers(4);
  const auto is_needed = [&](detail::AnyKind kind) {
    Regions regions(BlockDigest::crc32c);
    detail::RegionAccess access = access_to(numbers);
    access.kind = std::move(kind);
    EXPECT_TRUE(regions.protect("numbers", std::move(access)));
    return regions.exchange().is_needed_by_kind(Rank{3});
  };
  EXPECT_TRUE(is_needed(sequence_part(0, 4)));
  EXPECT_TRUE(is_needed(of_rank(2)));
  for (const detail::AnyKind& kind : {detail::AnyKind(of_rank(3)), detail::AnyKind(same), detail::AnyKind(sequence),
                                      detail::AnyKind(like("others")), detail::AnyKind()})
    EXPECT_FALSE(is_needed(kind)) << kind.index();
}

TEST_F(RestoredRegions, are_refused_where_a_byte_is_damaged) {
  const ShardHeader header = ShardFile::open(store, kName)->header();
  const std::uint64_t in_table = kShardHeaderBytes + header.table_bytes / 2;
  for (const std::uint64_t at : {in_table, header.data_offset, header.data_offset + header.data_bytes - 1}) {
    ASSERT_TRUE(store.corrupt(kName, at));
    for (const bool as_long : {false, true}) {
      Values values;
      Regions regions(BlockDigest::crc32c);
      for (const auto& [name, was] : stored) {
        values[name].assign(as_long ? was.size() : 0, -1);
        ASSERT_TRUE(regions.protect(name, access_to(values[name])));
      }
      const Status restored = restore(regions);
      ASSERT_FALSE(restored) << at;
      EXPECT_EQ(restored.error().code, Code::corrupt) << restored.error().text();
    }
    ASSERT_TRUE(store.corrupt(kName, at));  // turns it back
  }
  Regions regions(BlockDigest::crc32c);
  Values values = stored;
  for (auto& [name, now] : values) ASSERT_TRUE(regions.protect(name, access_to(now)));
  EXPECT_TRUE(restore(regions));
}

// What restoring a number of the type `type_name` from a shard with a number of the type `stored` is refused with.
Status refusal(const std::string& type_name, const std::string& stored) {
  const FileName name{"v00000001-0000000000000001/rank000003.shard"};
  int number = 0;
  const auto regions_of = [&](const std::string& type) {
    detail::RegionAccess access = access_to(number);
    access.element = Element::opaque;
    access.type_name = type;
    Regions regions(BlockDigest::crc32c);
    EXPECT_TRUE(regions.protect("number", std::move(access)));
    return regions;
  };
  MemoryStore store;
  Regions before = regions_of(stored);
  const auto capture = before.capture();
  EXPECT_TRUE(write_shard(store, name, test::sample_identity({3}), capture->plan, capture->regions));
  Regions now = regions_of(type_name);
  return now.restore(ShardFile::open(store, name).value(), {});
}

TEST(MismatchedRegions, of_another_cpp_type_are_refused_with_both_types_as_in_the_source) {
  EXPECT_TRUE(refusal("4Cell", "4Cell"));
  EXPECT_THAT(refusal("4Cell", "N3sim4CellE"),
              Fails(Code::mismatch, {"number", "opaque(Cell, 4 B)", "opaque(sim::Cell, 4 B)"}));
  EXPECT_THAT(refusal("4Cell", "Cell"), Fails(Code::mismatch, {"number", "opaque(4Cell, 4 B)", "opaque(Cell, 4 B)"}));
}

// What restoring four numbers at `place` is refused with, which were at `stored` of an array.
Status refusal_of_place(const std::optional<GlobalPlace>& place, const std::optional<GlobalPlace>& stored,
                        bool container) {
  const FileName name{"v00000001-0000000000000001/rank000003.shard"};
  std::vector<int> numbers(4, 1);
  const auto regions_of = [&](const std::optional<GlobalPlace>& at) {
    detail::RegionAccess access = access_to(numbers);
    access.place = at;
    if (!container) {
      access.shape = {4};
      access.object = numbers.data();
      access.calls = nullptr;
    }
    Regions regions(BlockDigest::crc32c);
    EXPECT_TRUE(regions.protect("numbers", std::move(access)));
    return regions;
  };
  MemoryStore store;
  Regions before = regions_of(stored);
  const auto capture = before.capture();
  EXPECT_TRUE(write_shard(store, name, test::sample_identity({3}), capture->plan, capture->regions));
  numbers.assign(4, 7);
  Regions now = regions_of(place);
  const Status restored = now.restore(ShardFile::open(store, name).value(), {});
  EXPECT_EQ(numbers, std::vector<int>(4, restored ? 1 : 7));
  return restored;
}

// The ranks of a job that cuts its array otherwise have other elements than in the snapshot.
TEST(MismatchedRegions, of_another_part_of_a_global_array_are_refused_with_both_places) {
  for (const bool container : {false, true}) {
    EXPECT_TRUE(refusal_of_place(GlobalPlace{{8}, {4}}, GlobalPlace{{8}, {4}}, container));
    EXPECT_THAT(refusal_of_place(GlobalPlace{{8}, {4}}, GlobalPlace{{8}, {0}}, container),
                Fails(Code::mismatch, {"numbers", "at [4] of [8]", "at [0] of [8]", "without a place"}));
    EXPECT_THAT(refusal_of_place(GlobalPlace{{9}, {4}}, GlobalPlace{{8}, {4}}, container),
                Fails(Code::mismatch, {"numbers", "at [4] of [9]", "at [4] of [8]"}));
    // Where one of them says no place, nothing is known to be wrong.
    EXPECT_TRUE(refusal_of_place(std::nullopt, GlobalPlace{{8}, {4}}, container));
    EXPECT_TRUE(refusal_of_place(GlobalPlace{{8}, {4}}, std::nullopt, container));
  }
}

}  // namespace
}  // namespace cairn
