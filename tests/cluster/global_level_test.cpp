// L4 under every loss, all node stores included.
#include <gtest/gtest.h>

#include "support/head_cluster.hpp"

namespace cairn::test {
namespace {

TEST(GlobalLevel, brings_back_every_subset_of_lost_nodes_even_all) {
  for (const std::vector<std::uint32_t>& ranks :
       {std::vector<std::uint32_t>{3}, {2, 1}, {1, 3, 2}, {1, 2, 1, 3}, {2, 1, 1, 1, 2}}) {
    SCOPED_TRACE(testing::Message() << ranks.size() << " nodes");
    HeadCluster cluster(layout_of_ranks(ranks), [](std::uint32_t rank) { return rank * 131 % 400; });
    cluster.protect(level_set({LevelId::global}));
    expect_all_that_can_survive(cluster);
  }
}

TEST(GlobalLevel, needs_nothing_of_the_nodes_where_it_was_written) {
  HeadCluster cluster(layout_of_ranks({2, 1, 3}), [](std::uint32_t rank) { return 50 * rank; });
  cluster.protect(level_set({LevelId::global}));
  cluster.lose({0, 1, 2});
  const Layout today = layout_of_ranks({1, 1, 1, 1, 2});
  const auto outcome = cluster.restore(today);
  ASSERT_FALSE(outcome.error) << outcome.error->text();
  EXPECT_EQ(cluster.wrong_ranks(today), std::vector<std::uint32_t>{});
}

TEST(LocalLevel, survives_no_loss_of_a_node) {
  HeadCluster cluster(layout_of_ranks({1, 2, 1}), [](std::uint32_t rank) { return 50 * rank; });
  cluster.protect(LevelSet{});
  expect_all_that_can_survive(cluster);
}

}  // namespace
}  // namespace cairn::test
