#include "engine/transfer_watch.hpp"

#include <array>

#include <gtest/gtest.h>

#include "base/bytes.hpp"

namespace cairn::test {
namespace {

constexpr double kFast = 1e9;

SymptomPort::Transfer transfer_of(double rate, std::uint64_t bytes = 100 * kMiB) {
  return {NodeId{1}, bytes, static_cast<double>(bytes) / rate};
}

class TransferWatched : public testing::Test {
 protected:
  // Nodes 1 to 5 report these rates, and node 0 watches.
  void exchange(const std::array<double, 5>& rates) {
    ++exchanges;
    for (std::uint32_t i = 0; i < rates.size(); ++i) watch.note(NodeId{i + 1}, {exchanges, rates.at(i)});
  }
  std::uint64_t exchanges = 0;
  TransferWatch watch{NodeId{0}};
};

TEST_F(TransferWatched, a_node_far_below_the_median_is_slow) {
  exchange({kFast, 0.95 * kFast, 0.1 * kFast, 1.02 * kFast, kFast});
  const auto slow = watch.look();
  ASSERT_EQ(slow.size(), 1U);
  EXPECT_EQ(slow[0].node, NodeId{3});
  EXPECT_NEAR(slow[0].share, 0.1, 0.01);
}

TEST_F(TransferWatched, each_exchange_is_named_once) {
  exchange({kFast, kFast, 0.1 * kFast, kFast, kFast});
  EXPECT_EQ(watch.look().size(), 1U);
  EXPECT_TRUE(watch.look().empty());
  exchange({kFast, kFast, 0.1 * kFast, kFast, kFast});
  EXPECT_EQ(watch.look().size(), 1U);
}

TEST_F(TransferWatched, rates_that_scatter_have_no_outlier) {
  exchange({kFast, 0.3 * kFast, 0.6 * kFast, 1.5 * kFast, 2 * kFast});
  EXPECT_TRUE(watch.look().empty());
}

TEST_F(TransferWatched, too_few_siblings_say_nothing) {
  watch.note(NodeId{1}, {1, kFast});
  watch.note(NodeId{2}, {1, kFast});
  watch.note(NodeId{3}, {1, 0.01 * kFast});
  EXPECT_TRUE(watch.look().empty());
}

TEST_F(TransferWatched, a_node_is_as_fast_as_its_fastest_transfer) {
  watch.note(std::array{transfer_of(0.1 * kFast), transfer_of(kFast)});
  EXPECT_NEAR(watch.own().best, kFast, 1);
  EXPECT_EQ(watch.own().exchanges, 1U);
}

TEST_F(TransferWatched, small_transfers_do_not_count) {
  watch.note(std::array{transfer_of(kFast, kMiB)});
  EXPECT_EQ(watch.own(), TransferRate{});
}

TEST_F(TransferWatched, bandwidth_is_the_median_of_the_last_exchanges) {
  EXPECT_EQ(watch.bandwidth(), 0);
  for (const double rate : {1.0, 0.2, 0.9}) watch.note(std::array{transfer_of(rate * kFast)});
  EXPECT_NEAR(watch.bandwidth(), 0.9 * kFast, 1);
}

}  // namespace
}  // namespace cairn::test
