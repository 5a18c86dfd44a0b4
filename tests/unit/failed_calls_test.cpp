#include "repair/failed_calls.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace cairn {
namespace {

using std::chrono::seconds;

constexpr auto kLimit = seconds(10);
const FailedCalls::Clock::time_point kStart{seconds(100)};

// These are not too many.
void add_some(FailedCalls& calls, std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) EXPECT_FALSE(calls.add(kStart, kLimit));
}

TEST(FailedCalls, are_too_many_if_both_their_number_and_their_time_are) {
  FailedCalls calls;
  add_some(calls, FailedCalls::kMost - 1);
  EXPECT_EQ(calls.add(kStart + kLimit, kLimit), kLimit);
  EXPECT_EQ(calls.add(kStart + kLimit + seconds(1), kLimit), kLimit + seconds(1));
}

TEST(FailedCalls, are_not_too_many_before_the_limit) {
  FailedCalls calls;
  add_some(calls, 10 * FailedCalls::kMost);
  EXPECT_FALSE(calls.add(kStart + kLimit - seconds(1), kLimit));
}

TEST(FailedCalls, are_not_too_many_if_they_are_few) {
  FailedCalls calls;
  add_some(calls, FailedCalls::kMost - 2);
  EXPECT_FALSE(calls.add(kStart + 100 * kLimit, kLimit));
}

TEST(FailedCalls, begin_anew_after_a_repair) {
  FailedCalls calls;
  add_some(calls, FailedCalls::kMost);
  calls.forget();
  EXPECT_FALSE(calls.add(kStart + kLimit, kLimit));
  for (std::uint64_t i = 0; i < FailedCalls::kMost; ++i) (void)calls.add(kStart + kLimit, kLimit);
  EXPECT_EQ(calls.add(kStart + 2 * kLimit, kLimit), kLimit);
}

}  // namespace
}  // namespace cairn
