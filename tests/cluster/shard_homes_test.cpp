// Which nodes get the shards of a snapshot of another number of ranks.
#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recover/shard_homes.hpp"

namespace cairn::test {
namespace {

using testing::ElementsAre;

Layout layout_of(std::uint32_t nodes, const std::vector<std::uint32_t>& node_of_rank) {
  Layout layout;
  layout.nodes = nodes;
  for (const std::uint32_t node : node_of_rank) layout.node_of_rank.push_back(NodeId{node});
  return layout;
}

// Of old ranks 0, 1 … of a snapshot that lies on no node.
std::vector<std::uint32_t> homes_of_all(const Layout& today, std::uint32_t old_ranks) {
  ShardHomes homes(today, old_ranks);
  std::vector<std::uint32_t> all;
  for (std::uint32_t old = 0; old < old_ranks; ++old) {
    const Peer home = homes.near(Rank{old});
    homes.take(home);
    all.push_back(home.value);
  }
  return all;
}

TEST(ShardHomes, follow_the_order_of_ranks) {
  EXPECT_THAT(homes_of_all(layout_of(2, {0, 1}), 4), ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(homes_of_all(layout_of(2, {1, 0}), 4), ElementsAre(1, 1, 0, 0));
  EXPECT_THAT(homes_of_all(layout_of(2, {0, 0, 1}), 4), ElementsAre(0, 0, 0, 1));
  EXPECT_THAT(homes_of_all(layout_of(4, {0, 0, 1, 1, 2, 2, 3, 3}), 4), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(homes_of_all(layout_of(3, {0, 0, 2, 2}), 2), ElementsAre(0, 2)) << "a head without ranks";
}

TEST(ShardHomes, leave_full_nodes_to_the_nearest_that_have_room) {
  const Layout today = layout_of(3, {0, 1, 2});
  ShardHomes homes(today, 6);
  for (int shard = 0; shard < 2; ++shard) homes.take(Peer{1});
  EXPECT_EQ(homes.near(Rank{1}), Peer{0});
  EXPECT_EQ(homes.near(Rank{2}), Peer{0}) << "of two that are equally near, the lower";
  for (int shard = 0; shard < 2; ++shard) homes.take(Peer{0});
  EXPECT_EQ(homes.near(Rank{0}), Peer{2});
}

struct Draw {
  Layout today;
  std::vector<std::uint32_t> with_ranks;  // nodes
  std::uint32_t old_ranks;
  bool in_order;  // ranks of a node follow each other
};

Draw draw(std::uint32_t seed) {
  std::mt19937 random(seed);
  Draw one;
  const std::uint32_t nodes = 1 + random() % 8;
  std::vector<std::uint32_t> node_of_rank;
  while (node_of_rank.empty())
    for (std::uint32_t node = 0; node < nodes; ++node) node_of_rank.insert(node_of_rank.end(), random() % 4, node);
  one.with_ranks = node_of_rank;
  one.with_ranks.erase(std::unique(one.with_ranks.begin(), one.with_ranks.end()), one.with_ranks.end());
  one.in_order = random() % 2 == 0;
  if (!one.in_order) std::ranges::shuffle(node_of_rank, random);
  one.today = layout_of(nodes, node_of_rank);
  one.old_ranks = 1 + random() % 40;
  return one;
}

// Reads the rule again: no node gets more than its part, and no rank of a node with room is nearer.
TEST(ShardHomes, of_shards_that_lie_nowhere_are_the_nearest_nodes_that_have_room) {
  for (std::uint32_t seed = 0; seed < 2000; ++seed) {
    const Draw one = draw(seed);
    SCOPED_TRACE(fmt::format("seed {}", seed));
    const auto ranks = static_cast<std::uint32_t>(one.today.node_of_rank.size());
    std::vector<std::uint32_t> shards(one.today.nodes);
    ShardHomes homes(one.today, one.old_ranks);
    const auto has_room = [&](NodeId node) {
      return shards[node.value] * ranks < std::ranges::count(one.today.node_of_rank, node) * one.old_ranks;
    };
    std::mt19937 random(seed);
    for (std::uint32_t old = 0; old < one.old_ranks; ++old) {
      if (random() % 3 == 0) {  // it lies on some node
        const std::uint32_t node = one.with_ranks[random() % one.with_ranks.size()];
        homes.take(Peer{node});
        ++shards[node];
        continue;
      }
      const Peer home = homes.near(Rank{old});
      ASSERT_TRUE(has_room(NodeId{home.value}));
      const std::int64_t part = (2 * old + 1) * ranks / (2 * one.old_ranks);
      std::int64_t nearest = ranks;
      std::int64_t of_home = ranks;
      for (std::int64_t rank = 0; rank < ranks; ++rank) {
        const NodeId node = one.today.node_of_rank[static_cast<std::size_t>(rank)];
        if (has_room(node)) nearest = std::min(nearest, std::abs(rank - part));
        if (node.value == home.value) of_home = std::min(of_home, std::abs(rank - part));
      }
      ASSERT_EQ(of_home, nearest);
      homes.take(home);
      ++shards[home.value];
    }
  }
}

// With elements in the order of ranks, and equal parts.
TEST(ShardHomes, need_more_of_a_shard_than_any_other_node) {
  for (std::uint32_t seed = 0; seed < 2000; ++seed) {
    const Draw one = draw(seed);
    const auto ranks = static_cast<std::uint32_t>(one.today.node_of_rank.size());
    if (!one.in_order || one.old_ranks < ranks) continue;
    SCOPED_TRACE(fmt::format("seed {}", seed));
    const auto homes = homes_of_all(one.today, one.old_ranks);
    for (std::uint32_t old = 0; old < one.old_ranks; ++old) {
      std::vector<std::uint32_t> needs(one.today.nodes);
      for (std::uint32_t i = 0; i < ranks; ++i)  // elements, so many in each shard that they can be shared out
        ++needs[one.today.node_of_rank[(old * ranks + i) / one.old_ranks].value];
      ASSERT_EQ(needs[homes[old]], std::ranges::max(needs)) << "of old rank " << old;
    }
  }
}

}  // namespace
}  // namespace cairn::test
