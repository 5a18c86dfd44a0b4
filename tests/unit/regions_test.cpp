#include "session/regions.hpp"

#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cairn {
namespace {

using testing::ElementsAre;

detail::RegionAccess access_to(int& number) {
  detail::RegionAccess access;
  access.element = Element::int32;
  access.element_bytes = sizeof(int);
  access.elements = [] { return std::size_t{1}; };
  access.data = [&number]() -> void* { return &number; };
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

}  // namespace
}  // namespace cairn
