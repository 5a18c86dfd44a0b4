// The planner by itself: which snapshot it chooses, what it refuses, and what it never mixes.
#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recover/plan.hpp"
#include "support/facts.hpp"
#include "support/head_cluster.hpp"

namespace cairn::test {
namespace {

constexpr Identity snapshot_of(std::uint32_t incarnation, std::uint32_t version, std::uint64_t run) {
  return {{incarnation}, {version}, {run}};
}

Layout two_ranks_a_node(std::uint32_t nodes) {
  Layout layout = layout_of_ranks(std::vector<std::uint32_t>(nodes, 2));
  layout.copies = nodes > 1 ? 1 : 0;
  return layout;
}

Inventory empty_inventory(const Layout& layout) {
  Inventory inventory;
  inventory.by_head.resize(layout.nodes);
  inventory.layouts[layout.id()] = layout;
  return inventory;
}

void add(Inventory& inventory, const Layout& layout, std::uint32_t node, const Identity& snapshot, bool partner) {
  LevelSet levels{LevelId::local};
  if (partner) levels.add(LevelId::partner);
  inventory.by_head[node].push_back({snapshot, layout.id(), NodeId{node}, levels, 0});
}

Result<Plan> plan(const Inventory& inventory, const Layout& today, std::uint32_t not_before = 0) {
  return make_plan({inventory, today, Incarnation{not_before}, {}, {}, {}});
}

TEST(Plan, prefers_the_highest_incarnation_then_the_highest_version) {
  const Layout layout = two_ranks_a_node(2);
  Inventory inventory = empty_inventory(layout);
  for (const Identity& one : {snapshot_of(1, 9, 5), snapshot_of(2, 3, 6), snapshot_of(2, 4, 6)}) {
    for (std::uint32_t node = 0; node < 2; ++node) add(inventory, layout, node, one, false);
  }
  const auto made = plan(inventory, layout);
  ASSERT_TRUE(made);
  EXPECT_EQ(made->snapshot, snapshot_of(2, 4, 6));
}

TEST(Plan, never_mixes_two_lives_that_gave_the_same_number) {
  const Layout layout = two_ranks_a_node(2);
  Inventory inventory = empty_inventory(layout);
  add(inventory, layout, 0, snapshot_of(1, 7, 0xa), false);
  add(inventory, layout, 1, snapshot_of(1, 7, 0xb), false);
  const auto refused = plan(inventory, layout);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::unrecoverable);
  EXPECT_THAT(refused, Fails(Code::unrecoverable, {"version 7", "rank 0", "rank 1", "node 0"}));
  EXPECT_THAT(refused, Fails(Code::unrecoverable, {"version 7", "rank 2", "rank 3", "node 1"}));
}

TEST(Plan, never_looks_behind_the_newest_fresh_start) {
  const Layout layout = two_ranks_a_node(2);
  Inventory inventory = empty_inventory(layout);
  for (std::uint32_t node = 0; node < 2; ++node) add(inventory, layout, node, snapshot_of(1, 9, 5), false);
  const auto nothing = plan(inventory, layout, 2);
  ASSERT_FALSE(nothing);
  EXPECT_EQ(nothing.error().code, Code::not_found);
  add(inventory, layout, 0, snapshot_of(2, 1, 6), false);
  const auto refused = plan(inventory, layout, 2);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused, Fails(Code::unrecoverable, {"version 1"}));
  EXPECT_THAT(refused, Not(Fails(Code::unrecoverable, {"version 9"})));
}

TEST(Plan, falls_back_to_an_older_snapshot_that_is_whole) {
  const Layout layout = two_ranks_a_node(3);
  Inventory inventory = empty_inventory(layout);
  for (const std::uint32_t node : {0U, 2U}) {
    add(inventory, layout, node, snapshot_of(1, 5, 1), false);
    add(inventory, layout, node, snapshot_of(1, 4, 1), true);
  }
  const auto made = plan(inventory, layout);
  ASSERT_TRUE(made) << made.error().text();
  EXPECT_EQ(made->snapshot, snapshot_of(1, 4, 1));
  EXPECT_EQ(made->lost_nodes, std::vector<NodeId>{NodeId{1}});
  EXPECT_EQ(made->deliveries[2].holder(), Peer{2});
  EXPECT_EQ(made->deliveries[3].level, LevelId::partner);
}

TEST(Plan, refuses_another_number_of_ranks_with_both) {
  const Layout layout = two_ranks_a_node(2);
  Inventory inventory = empty_inventory(layout);
  for (std::uint32_t node = 0; node < 2; ++node) add(inventory, layout, node, snapshot_of(1, 3, 1), false);
  const auto refused = plan(inventory, two_ranks_a_node(3));
  EXPECT_THAT(refused, Fails(Code::mismatch, {"version 3", "4", "6"}));
}

// Version 4 could not be restored by anybody, so it is no reason to refuse version 3.
TEST(Plan, passes_over_another_number_of_ranks_that_is_not_whole) {
  const Layout today = two_ranks_a_node(2);
  Inventory inventory = empty_inventory(today);
  const Layout other = two_ranks_a_node(3);
  inventory.layouts[other.id()] = other;
  add(inventory, other, 0, snapshot_of(1, 4, 1), false);
  const auto refused = plan(inventory, today);
  EXPECT_THAT(refused,
              Fails(Code::unrecoverable, {"version 4", "rank 2", "rank 3", "rank 4", "rank 5", "node 1", "node 2"}));
  for (std::uint32_t node = 0; node < 2; ++node) add(inventory, today, node, snapshot_of(1, 3, 1), false);
  const auto made = plan(inventory, today);
  ASSERT_TRUE(made) << made.error().text();
  EXPECT_EQ(made->snapshot, snapshot_of(1, 3, 1));
}

TEST(Plan, sources_shards_wherever_their_ranks_have_moved) {
  const Layout layout = two_ranks_a_node(2);
  Inventory inventory = empty_inventory(layout);
  for (std::uint32_t node = 0; node < 2; ++node) add(inventory, layout, node, snapshot_of(1, 3, 1), true);
  const Layout today = layout_of_ranks({1, 3});
  inventory.layouts[today.id()] = today;
  const auto made = plan(inventory, today);
  ASSERT_TRUE(made) << made.error().text();
  // Rank 1 has moved to node 1, where its copy lies already.
  EXPECT_EQ(made->deliveries[0].level, LevelId::local);
  EXPECT_EQ(made->deliveries[1].to, Peer{1});
  EXPECT_EQ(made->deliveries[1].holder(), Peer{1});
  EXPECT_EQ(made->deliveries[1].level, LevelId::partner);
}

// Plans of a snapshot of other ranks than those of `today`.
Result<Plan> elastic_plan(const Inventory& inventory, const Layout& today,
                          std::map<Identity, std::uint32_t> ranks = {}) {
  return make_plan({inventory, today, {}, {}, {}, {}, true, std::move(ranks)});
}

// The heads to which the shards go, by rank of the snapshot.
std::vector<std::uint32_t> homes_in(const Plan& plan) {
  std::vector<std::uint32_t> homes;
  for (const Delivery& delivery : plan.deliveries) homes.push_back(delivery.to.value);
  return homes;
}

using testing::ElementsAre;

TEST(PlanOfOtherRanks, is_refused_unless_it_is_wanted) {
  const Layout old = two_ranks_a_node(2);
  const Layout today = layout_of_ranks({1, 1});
  Inventory inventory = empty_inventory(old);
  for (std::uint32_t node = 0; node < 2; ++node) add(inventory, old, node, snapshot_of(1, 4, 5), false);
  EXPECT_THAT(plan(inventory, today), Fails(Code::mismatch, {"version 4", "4 ranks", "2"}));
  const auto made = elastic_plan(inventory, today);
  ASSERT_TRUE(made) << made.error().text();
  EXPECT_TRUE(made->of_other_ranks);
}

TEST(PlanOfOtherRanks, leaves_shards_where_they_are_as_long_as_ranks_are_there) {
  const Layout old = two_ranks_a_node(3);
  Inventory inventory = empty_inventory(old);
  for (std::uint32_t node = 0; node < 3; ++node) add(inventory, old, node, snapshot_of(1, 4, 5), true);
  const auto made = elastic_plan(inventory, layout_of_ranks({3, 1, 4}));
  ASSERT_TRUE(made);
  EXPECT_THAT(homes_in(*made), ElementsAre(0, 0, 1, 1, 2, 2));
  EXPECT_TRUE(std::ranges::all_of(made->deliveries, &Delivery::in_place));
}

TEST(PlanOfOtherRanks, takes_shards_from_heads_without_ranks_to_nodes_with_ranks) {
  const Layout old = two_ranks_a_node(3);
  Inventory inventory = empty_inventory(old);
  for (std::uint32_t node = 0; node < 3; ++node) add(inventory, old, node, snapshot_of(1, 4, 5), false);
  const auto made = elastic_plan(inventory, layout_of_ranks({2, 0, 6}));
  ASSERT_TRUE(made);
  EXPECT_THAT(homes_in(*made), ElementsAre(0, 0, 2, 2, 2, 2));
}

// And not to those that have the copies.
TEST(PlanOfOtherRanks, brings_copies_of_lost_nodes_to_nodes_that_need_them) {
  const Layout old = two_ranks_a_node(4);
  Inventory inventory = empty_inventory(old);
  for (const std::uint32_t node : {0U, 2U, 3U}) add(inventory, old, node, snapshot_of(1, 4, 5), true);
  const auto made = elastic_plan(inventory, layout_of_ranks({1, 1, 1, 1}));
  ASSERT_TRUE(made);
  EXPECT_THAT(homes_in(*made), ElementsAre(0, 0, 1, 1, 2, 2, 3, 3));
  EXPECT_EQ(made->deliveries[2].level, LevelId::partner);
  EXPECT_EQ(made->deliveries[2].holder(), Peer{2});
}

TEST(PlanOfOtherRanks, brings_shards_that_only_the_global_store_has_to_nodes_that_need_them) {
  const Layout today = layout_of_ranks({1, 2});
  Inventory inventory = empty_inventory(today);
  inventory.shared[LevelId::global] = {snapshot_of(1, 4, 5)};
  const auto made = elastic_plan(inventory, today, {{snapshot_of(1, 4, 5), 6}});
  ASSERT_TRUE(made);
  EXPECT_TRUE(made->of_other_ranks);
  EXPECT_THAT(homes_in(*made), ElementsAre(0, 0, 1, 1, 1, 1));
}

TEST(PlanOfOtherRanks, names_the_missing_ranks_of_the_snapshot) {
  const Layout old = two_ranks_a_node(3);
  Inventory inventory = empty_inventory(old);
  for (const std::uint32_t node : {0U, 1U}) add(inventory, old, node, snapshot_of(1, 4, 5), false);
  EXPECT_THAT(elastic_plan(inventory, layout_of_ranks({1, 1})),
              Fails(Code::unrecoverable, {"version 4", "rank 4", "rank 5", "node 2"}));
}

}  // namespace
}  // namespace cairn::test
