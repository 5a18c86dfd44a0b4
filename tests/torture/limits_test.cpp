#include <gtest/gtest.h>

#include "torture/limits.hpp"

namespace cairn::torture {
namespace {

using std::chrono::seconds;

constexpr std::uint64_t kMany = 1'000'000;

TEST(Limits, of_minutes_alone_are_reached_when_those_are_over) {
  const Limits limits{{}, 6};
  EXPECT_FALSE(limits.reached(kMany, seconds(359)));
  EXPECT_TRUE(limits.reached(1, seconds(360)));
}

TEST(Limits, of_seeds_alone_take_as_long_as_they_take) {
  const Limits limits{3, 0};
  EXPECT_FALSE(limits.reached(2, seconds(kMany)));
  EXPECT_TRUE(limits.reached(3, seconds(0)));
}

TEST(Limits, of_both_are_reached_with_the_first) {
  const Limits limits{3, 1};
  EXPECT_FALSE(limits.reached(2, seconds(59)));
  EXPECT_TRUE(limits.reached(3, seconds(0)));
  EXPECT_TRUE(limits.reached(0, seconds(60)));
}

TEST(Limits, are_a_hundred_seeds_where_none_is_given) {
  EXPECT_FALSE(Limits().reached(99, seconds(kMany)));
  EXPECT_TRUE(Limits().reached(100, seconds(0)));
}

}  // namespace
}  // namespace cairn::torture
