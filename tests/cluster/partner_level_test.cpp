// L2 under every loss: each subset of nodes, each number of copies, each placement.
#include <gtest/gtest.h>

#include "support/head_cluster.hpp"
#include "topology/placement.hpp"

namespace cairn::test {
namespace {

// Uneven: 1 to 3 ranks a node, shards of none to some hundred rows.
HeadCluster partner_cluster(std::uint32_t nodes, std::uint32_t copies, std::uint32_t rotation) {
  std::vector<std::uint32_t> ranks;
  for (std::uint32_t node = 0; node < nodes; ++node) ranks.push_back(1 + (node + 1) % 3);
  Layout layout = layout_of_ranks(ranks);
  layout.copies = copies;
  layout.rotation = rotation;
  return HeadCluster(layout, [](std::uint32_t rank) { return rank * 131 % 400; });
}

void try_every_loss(std::uint32_t nodes, std::uint32_t copies, std::uint32_t turn) {
  SCOPED_TRACE(testing::Message() << nodes << " nodes, " << copies << " copies, placement " << turn);
  HeadCluster cluster = partner_cluster(nodes, copies, turn + 1);
  cluster.protect(level_set({LevelId::partner}), turn);
  expect_all_that_can_survive(cluster);
}

class PartnerCopies : public testing::TestWithParam<std::uint32_t> {};

TEST_P(PartnerCopies, bring_back_what_they_promise_of_every_subset_of_up_to_six_nodes) {
  for (std::uint32_t nodes = 2; nodes <= 6; ++nodes) {
    for (std::uint32_t turn = 0; turn < 3; ++turn) {
      if (!placement_obstacle(GetParam(), turn + 1, nodes).empty()) continue;
      try_every_loss(nodes, GetParam(), turn);
      if (HasFailure()) return;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Copies, PartnerCopies, testing::Values(1, 2, 3));

TEST(PartnerLevel, brings_back_what_it_promises_of_every_subset_of_seven_nodes) {
  try_every_loss(7, 1, 2);
  try_every_loss(7, 2, 1);
  try_every_loss(7, 3, 0);
}

TEST(PartnerLevel, survives_any_loss_of_as_many_nodes_as_it_has_copies) {
  HeadCluster cluster = partner_cluster(5, 2, 1);
  cluster.protect(level_set({LevelId::partner}));
  for (std::uint32_t bits = 0; bits < 32; ++bits) {
    const Losses lost = losses_of(bits);
    if (lost.size() > 2) continue;
    cluster.put_back();
    cluster.lose(lost);
    const auto outcome = cluster.restore();
    ASSERT_FALSE(outcome.error) << outcome.error->text();
    EXPECT_EQ(cluster.wrong_ranks(), std::vector<std::uint32_t>{});
  }
}

TEST(PartnerLevel, copies_shards_longer_than_a_slice) {
  Layout layout = layout_of_ranks({1, 2, 1});
  layout.copies = 2;
  HeadCluster cluster(layout, [](std::uint32_t rank) { return rank == 1 ? 90'000 : rank * 7; });
  cluster.protect(level_set({LevelId::partner}));
  expect_all_that_can_survive(cluster);
}

}  // namespace
}  // namespace cairn::test
