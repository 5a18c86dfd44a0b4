// Which node analyses which: a pure function of the tree and of what is known to be dead or mute.
#include "localize/tree.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cairn::localize {
namespace {

using testing::ElementsAre;

constexpr Availability::Time kLater = std::chrono::seconds(9);

Tree tree_of(std::uint32_t count, std::uint32_t fanout) {
  std::vector<NodeId> nodes;
  for (std::uint32_t i = 0; i < count; ++i) nodes.push_back(NodeId{i});
  return {nodes, fanout};
}

TEST(Tree, gives_every_node_but_the_root_one_parent_with_at_most_fanout_children) {
  for (const std::uint32_t fanout : {1U, 2U, 3U, 8U}) {
    const Tree tree = tree_of(40, fanout);
    std::size_t children = 0;
    for (const NodeId node : tree.nodes()) {
      EXPECT_LE(tree.children(node).size(), fanout);
      for (const NodeId child : tree.children(node)) EXPECT_EQ(tree.parent(child), node);
      children += tree.children(node).size();
    }
    EXPECT_EQ(children, 39U);
    EXPECT_FALSE(tree.parent(NodeId{0}));
  }
}

TEST(Tree, may_be_made_again_of_the_nodes_that_a_repair_leaves) {
  const Tree tree({NodeId{3}, NodeId{7}, NodeId{9}}, 2);
  EXPECT_THAT(tree.children(NodeId{3}), ElementsAre(NodeId{7}, NodeId{9}));
  EXPECT_FALSE(tree.has(NodeId{0}));
  EXPECT_FALSE(analyst_of(tree, NodeId{0}, {}));
}

TEST(AnalystOf, a_node_is_its_parent_and_of_the_root_its_first_child) {
  const Tree tree = tree_of(20, 3);
  const Availability known;
  EXPECT_EQ(analyst_of(tree, NodeId{13}, known), NodeId{4});
  EXPECT_EQ(analyst_of(tree, NodeId{0}, known), NodeId{1});
}

TEST(AnalystOf, a_node_is_the_next_one_upwards_if_the_parent_is_dead_or_mute) {
  const Tree tree = tree_of(20, 3);
  Availability dead;
  dead.set_dead(NodeId{4});
  Availability mute;
  mute.set_mute(NodeId{4}, kLater);
  for (const Availability& known : {dead, mute}) EXPECT_EQ(analyst_of(tree, NodeId{13}, known), NodeId{1});
  mute.set_dead(NodeId{1});
  EXPECT_EQ(analyst_of(tree, NodeId{13}, mute), NodeId{0});
  mute.forget_before(kLater);
  EXPECT_EQ(analyst_of(tree, NodeId{13}, mute), NodeId{4});
}

TEST(AnalystOf, a_node_without_available_ancestors_is_the_nearest_one_and_never_itself) {
  const Tree tree = tree_of(20, 3);
  Availability known;
  for (const std::uint32_t node : {0U, 1U, 4U}) known.set_dead(NodeId{node});
  EXPECT_EQ(analyst_of(tree, NodeId{13}, known), NodeId{14});
  for (std::uint32_t node = 0; node < 20; ++node) {
    if (node != 13) known.set_dead(NodeId{node});
  }
  EXPECT_FALSE(analyst_of(tree, NodeId{13}, known));
}

TEST(AnalystOf, never_chooses_a_dead_or_mute_node_whatever_is_known) {
  const Tree tree = tree_of(7, 2);
  for (std::uint32_t bits = 0; bits < 1U << 14U; ++bits) {
    Availability known;
    for (std::uint32_t node = 0; node < 7; ++node) {
      if ((bits >> node & 1U) != 0) known.set_dead(NodeId{node});
      if ((bits >> (node + 7) & 1U) != 0) known.set_mute(NodeId{node}, kLater);
    }
    for (std::uint32_t suspect = 0; suspect < 7; ++suspect) {
      const auto analyst = analyst_of(tree, NodeId{suspect}, known);
      const bool others = (~(bits | bits >> 7U) & 0x7fU & ~(1U << suspect)) != 0;
      ASSERT_EQ(analyst.has_value(), others);
      if (analyst) {
        ASSERT_TRUE(*analyst != NodeId{suspect} && !known.dead(*analyst) && !known.mute(*analyst));
      }
    }
  }
}

TEST(ActingRoot, is_the_first_child_once_the_root_is_dead_or_mute) {
  const Tree tree = tree_of(20, 3);
  Availability known;
  EXPECT_EQ(acting_root(tree, NodeId{13}, known), NodeId{0});
  known.set_mute(NodeId{0}, kLater);
  EXPECT_EQ(acting_root(tree, NodeId{13}, known), NodeId{1});
  known.set_alive(NodeId{0});
  EXPECT_EQ(acting_root(tree, NodeId{13}, known), NodeId{0});
  known.set_dead(NodeId{0});
  known.set_dead(NodeId{1});
  EXPECT_EQ(acting_root(tree, NodeId{13}, known), NodeId{2});
}

TEST(ActingRoot, is_the_highest_node_that_answers_where_the_network_is_broken) {
  const Tree tree = tree_of(20, 3);
  Availability known;
  for (const std::uint32_t node : {0U, 1U}) known.set_mute(NodeId{node}, kLater);
  EXPECT_EQ(acting_root(tree, NodeId{13}, known), NodeId{4});
  known.set_mute(NodeId{4}, kLater);
  EXPECT_EQ(acting_root(tree, NodeId{13}, known), NodeId{13});
}

TEST(LivingChildren, take_the_place_of_a_dead_parent) {
  const Tree tree = tree_of(20, 3);
  Availability known;
  known.set_dead(NodeId{2});
  EXPECT_THAT(living_children(tree, NodeId{0}, known),
              ElementsAre(NodeId{1}, NodeId{3}, NodeId{7}, NodeId{8}, NodeId{9}));
}

}  // namespace
}  // namespace cairn::localize
