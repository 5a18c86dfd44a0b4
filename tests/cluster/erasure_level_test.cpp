// L3 under every loss: each subset of nodes of groups of every size and parity.
#include <gtest/gtest.h>

#include "support/head_cluster.hpp"
#include "topology/placement.hpp"

namespace cairn::test {
namespace {

HeadCluster erasure_cluster(std::uint32_t nodes, std::uint32_t group, std::uint32_t parity) {
  std::vector<std::uint32_t> ranks;
  for (std::uint32_t node = 0; node < nodes; ++node) ranks.push_back(1 + (node + 1) % 3);
  Layout layout = layout_of_ranks(ranks);
  layout.groups = make_groups(nodes, group, parity, {});
  layout.parity = parity;
  HeadCluster cluster(layout, [](std::uint32_t rank) { return rank * 131 % 400; });
  cluster.protect(level_set({LevelId::erasure}));
  return cluster;
}

struct Shape {
  std::uint32_t nodes;
  std::uint32_t group;
  std::uint32_t parity;
};

class ErasureShapes : public testing::TestWithParam<Shape> {};

TEST_P(ErasureShapes, bring_back_every_subset_of_lost_nodes_that_leaves_enough_of_each_group) {
  HeadCluster cluster = erasure_cluster(GetParam().nodes, GetParam().group, GetParam().parity);
  expect_all_that_can_survive(cluster);
}

std::vector<Shape> shapes() {
  std::vector<Shape> all;
  for (std::uint32_t n = 2; n <= 6; ++n) {
    for (std::uint32_t m = 1; m < n; ++m) all.push_back({n, n, m});
  }
  for (std::uint32_t m = 1; m <= 3; ++m) {
    all.push_back({7, 7, m});
    all.push_back({8, 8, m});
  }
  // Groups of unequal sizes.
  all.push_back({5, 3, 1});
  all.push_back({7, 4, 1});
  all.push_back({7, 4, 2});
  return all;
}

INSTANTIATE_TEST_SUITE_P(Shapes, ErasureShapes, testing::ValuesIn(shapes()), [](const auto& shape) {
  return "nodes_" + std::to_string(shape.param.nodes) + "_group_" + std::to_string(shape.param.group) + "_parity_" +
         std::to_string(shape.param.parity);
});

// The judge of the sweep above works column by column; this is the promise itself.
TEST(ErasureLevel, survives_the_loss_of_m_nodes_of_each_group_and_of_no_more) {
  HeadCluster cluster = erasure_cluster(7, 4, 2);  // groups of 4 and 3
  for (std::uint32_t bits = 0; bits < 1U << 7U; ++bits) {
    const auto gone = ranks_beyond_rescue(cluster.layout(), cluster.levels(), 0, losses_of(bits));
    const auto lost_of = [&](std::uint32_t mask) { return losses_of(bits & mask).size(); };
    EXPECT_EQ(gone.empty(), lost_of(0b0001111) <= 2 && lost_of(0b1110000) <= 2) << bits;
  }
}

TEST(ErasureLevel, decodes_volumes_of_very_different_sizes_longer_than_a_slice) {
  Layout layout = layout_of_ranks({1, 3, 1, 2});
  layout.groups = make_groups(4, 4, 2, {});
  layout.parity = 2;
  HeadCluster cluster(layout, [](std::uint32_t rank) { return rank == 2 ? 120'000 : rank * 5; });
  cluster.protect(level_set({LevelId::erasure}));
  expect_all_that_can_survive(cluster);
}

}  // namespace
}  // namespace cairn::test
