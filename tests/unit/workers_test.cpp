#include "base/workers.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <numeric>
#include <thread>
#include <utility>
#include <vector>

namespace cairn {
namespace {

struct WorkersTest : testing::TestWithParam<std::uint32_t> {
  Workers workers{GetParam()};
};

TEST_P(WorkersTest, runs_every_piece_once_and_shows_its_effects) {
  for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{2}, std::size_t{1000}}) {
    std::vector<int> runs(count);  // no atomics: for_each() itself must order them
    workers.for_each(count, [&](std::size_t i) { runs[i] += 1; });
    EXPECT_EQ(std::accumulate(runs.begin(), runs.end(), std::size_t{0}), count);
    for (const int run : runs) EXPECT_EQ(run, 1);
  }
}

TEST_P(WorkersTest, runs_meanwhile_on_the_caller_between_pieces) {
  const auto caller = std::this_thread::get_id();
  int calls = 0;
  workers.for_each(
      100, [](std::size_t) {},
      [&] {
        EXPECT_EQ(std::this_thread::get_id(), caller);
        ++calls;
      });
  EXPECT_LE(calls, 99);
  if (workers.helpers() == 0) {
    EXPECT_EQ(calls, 99);
  }
}

// A head that encodes is asked in between to digest a newer snapshot.
TEST_P(WorkersTest, lets_meanwhile_use_the_helpers_too) {
  std::vector<int> outer(50);
  std::vector<int> inner(50);
  std::atomic<int> innermost{0};
  bool asked = false;
  workers.for_each(
      outer.size(), [&](std::size_t i) { outer[i] = 1; },
      [&] {
        if (std::exchange(asked, true)) return;
        workers.for_each(
            inner.size(), [&](std::size_t i) { inner[i] = 1; },
            [&] { workers.for_each(2, [&](std::size_t) { ++innermost; }); });
      });
  EXPECT_EQ(std::accumulate(outer.begin(), outer.end(), 0), 50);
  if (!asked) return;  // the helpers had done all before the caller came to it
  EXPECT_EQ(std::accumulate(inner.begin(), inner.end(), 0), 50);
  EXPECT_EQ(innermost % 2, 0);
}

INSTANTIATE_TEST_SUITE_P(Helpers, WorkersTest, testing::Values(0, 1, 3));

TEST(Workers, uses_its_helpers) {
  // Each piece waits for the other one: a single thread would never end.
  Workers workers(1);
  std::atomic<int> arrived{0};
  workers.for_each(2, [&](std::size_t) {
    ++arrived;
    while (arrived < 2) std::this_thread::yield();
  });
  EXPECT_EQ(arrived, 2);
}

TEST(Workers, ends_without_having_worked) {
  const Workers workers(3);
  EXPECT_EQ(workers.helpers(), 3U);
  EXPECT_GE(usable_processors(), 1U);
}

}  // namespace
}  // namespace cairn
