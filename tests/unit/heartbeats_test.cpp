#include "engine/heartbeats.hpp"

#include <algorithm>
#include <chrono>
#include <set>

#include <gtest/gtest.h>

namespace cairn::test {
namespace {

using std::chrono::seconds;

localize::Tree tree_of(std::uint32_t nodes) {
  std::vector<NodeId> all(nodes);
  for (std::uint32_t i = 0; i < nodes; ++i) all[i].value = i;
  return {all, 8};
}

TEST(Heartbeats, of_each_node_go_to_its_analyst_and_to_another_one) {
  for (const std::uint32_t nodes : {3U, 9U, 100U}) {
    const auto tree = tree_of(nodes);
    for (const NodeId node : tree.nodes()) {
      const Heartbeats beats(node, tree, seconds(30));
      const auto& watchers = beats.watchers();
      EXPECT_EQ(watchers.front(), analyst_of(tree, node, {}));
      EXPECT_EQ(std::set(watchers.begin(), watchers.end()).size(), watchers.size());
      EXPECT_FALSE(std::ranges::count(watchers, node));
      // Where the analyst is the next one, it is the only one.
      EXPECT_GE(watchers.size(), 1U);
      EXPECT_LE(watchers.size(), 2U);
    }
  }
  EXPECT_TRUE(Heartbeats(NodeId{0}, tree_of(1), seconds(30)).watchers().empty());
}

TEST(Heartbeats, are_due_fifteen_times_until_a_node_is_silent) {
  Heartbeats beats(NodeId{0}, tree_of(2), seconds(30));
  EXPECT_TRUE(beats.due(seconds(10)));
  EXPECT_FALSE(beats.due(seconds(11)));
  EXPECT_TRUE(beats.due(seconds(12)));
}

TEST(Heartbeats, that_are_missed_for_long_show_that_a_node_is_silent) {
  Heartbeats beats(NodeId{0}, tree_of(3), seconds(30));
  seconds now{100};
  EXPECT_TRUE(beats.look(now).empty());
  for (; now < seconds(129); now += seconds(1)) {
    beats.heard(NodeId{2}, now);
    EXPECT_TRUE(beats.look(now).empty());
  }
  beats.heard(NodeId{2}, now);
  const auto silent = beats.look(seconds(131));
  ASSERT_EQ(silent.size(), 1U);
  EXPECT_EQ(silent[0].node, NodeId{1});
  EXPECT_EQ(silent[0].missed, 15);
  EXPECT_TRUE(beats.look(seconds(132)).empty()) << "again at once";
  EXPECT_EQ(beats.look(seconds(137)).size(), 1U);
  beats.heard(NodeId{1}, seconds(138));
  EXPECT_TRUE(beats.look(seconds(150)).empty());
}

TEST(Heartbeats, are_not_expected_from_a_node_that_has_left) {
  Heartbeats beats(NodeId{0}, tree_of(3), seconds(30));
  EXPECT_TRUE(beats.look(seconds(0)).empty());
  beats.left(NodeId{1});
  beats.heard(NodeId{2}, seconds(60));
  EXPECT_TRUE(beats.look(seconds(60)).empty());
}

TEST(Heartbeats, are_expected_from_those_that_send_them) {
  const auto tree = tree_of(20);
  for (const NodeId node : tree.nodes()) {
    const Heartbeats its(node, tree, seconds(30));
    for (const NodeId watcher : its.watchers()) {
      Heartbeats beats(watcher, tree, seconds(30));
      EXPECT_TRUE(beats.look(seconds(0)).empty());
      const auto silent = beats.look(seconds(60));
      EXPECT_TRUE(std::ranges::any_of(silent, [&](const auto& one) { return one.node == node; }));
    }
  }
}

}  // namespace
}  // namespace cairn::test
