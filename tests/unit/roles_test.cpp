// Who takes over from whom.
#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "repair/roles.hpp"

namespace cairn {
namespace {

using Role = Member::Role;

// Nodes of these sizes, all on one host; the last `spares` ranks are spares.
Roster start(const std::vector<std::uint32_t>& sizes, std::uint32_t spares, HeadMode mode = HeadMode::rank) {
  std::uint32_t all = 0;
  for (const std::uint32_t size : sizes) all += size;
  const auto everyone = make_topology(std::vector<std::string>(all, "host"), sizes, HeadMode::inline_);
  return first_roster(*everyone, mode, spares).value();
}

// "0 1 H | 2 3 H | s s": by node, application ranks by number.
std::string text(const Roster& roster) {
  std::string out;
  for (std::size_t i = 0; i < roster.size(); ++i) {
    if (i > 0) out += roster[i].node == roster[i - 1].node ? " " : " | ";
    if (roster[i].role == Role::head) out += "H";
    if (roster[i].role == Role::spare) out += "s";
    if (roster[i].role == Role::rank) out += std::to_string(roster[i].rank.value);
  }
  return out;
}

Repair after(const Roster& before, std::initializer_list<std::uint32_t> dead, HeadMode mode = HeadMode::rank,
             const std::set<NodeId>& sick = {}) {
  std::vector<std::uint32_t> live;
  for (std::uint32_t i = 0; i < before.size(); ++i) {
    if (std::ranges::find(dead, i) == dead.end()) live.push_back(i);
  }
  return repair(before, live, mode, sick);
}

TEST(FirstRoster, makes_the_last_ranks_spares_and_the_highest_other_rank_of_each_node_its_head) {
  EXPECT_EQ(text(start({3, 3, 2}, 2)), "0 1 H | 2 3 H | s s");
  EXPECT_EQ(text(start({4, 4}, 1)), "0 1 2 H | 3 4 H s");
  EXPECT_EQ(text(start({2, 2, 1}, 1, HeadMode::inline_)), "0 1 | 2 3 | s");
}

TEST(FirstRoster, refuses_a_node_without_room_for_a_head_and_a_world_of_spares) {
  const auto everyone = make_topology(std::vector<std::string>(4, "host"), {3, 1}, HeadMode::inline_);
  EXPECT_FALSE(first_roster(*everyone, HeadMode::rank, 0));
  EXPECT_FALSE(first_roster(*everyone, HeadMode::rank, 4));
  EXPECT_TRUE(first_roster(*everyone, HeadMode::rank, 1));
}

TEST(Repair, gives_a_rank_to_a_spare_of_its_own_node_first) {
  const Roster before = start({4, 4, 3}, 4);
  ASSERT_EQ(text(before), "0 1 2 H | 3 4 H s | s s s");
  EXPECT_EQ(text(after(before, {4}).roster), "0 1 2 H | 4 H 3 | s s s");
}

TEST(Repair, uses_newcomers_before_a_spare_that_waits) {
  Roster before = start({4}, 1);
  ASSERT_EQ(text(before), "0 1 H s");
  before.push_back({Role::spare, NodeId{0}, {}});
  before.push_back({Role::spare, NodeId{0}, {}});
  EXPECT_EQ(text(after(before, {0, 2}).roster), "1 s H 0");
}

TEST(Repair, gives_the_ranks_of_a_lost_node_to_one_host_of_spares_which_brings_its_own_head) {
  const Roster before = start({3, 3, 3, 3}, 6);
  ASSERT_EQ(text(before), "0 1 H | 2 3 H | s s s | s s s");
  EXPECT_EQ(text(after(before, {3, 4, 5}).roster), "0 1 H | 2 3 H | s s s");
  EXPECT_EQ(text(after(before, {0, 1, 2}).roster), "2 3 H | 0 1 H | s s s");
}

TEST(Repair, makes_a_spare_of_the_node_its_head_and_leaves_it_without_one_if_there_is_none) {
  const Roster before = start({4, 3}, 4);
  ASSERT_EQ(text(before), "0 1 H s | s s s");  // a spare more than the second node has
  EXPECT_EQ(text(after(before, {2}).roster), "0 1 H | s s s");
  const Repair repaired = after(before, {2, 3});
  EXPECT_EQ(text(repaired.roster), "0 1 | s s s");
  EXPECT_TRUE(repaired.unfilled.empty());
}

TEST(Helpers, are_the_replacement_of_the_only_lost_rank_and_then_spares) {
  const auto helpers = [](const Roster& before, std::vector<std::uint32_t> live, std::uint32_t most) {
    return helpers_of(before, live, repair(before, live, HeadMode::rank).roster, most);
  };
  const Roster before = start({4, 5}, 3);
  ASSERT_EQ(text(before), "0 1 2 H | 3 H s s s");
  const std::vector<std::uint32_t> without_3 = {0, 1, 2, 3, 5, 6, 7, 8};
  ASSERT_EQ(text(repair(before, without_3, HeadMode::rank).roster), "0 1 2 H | H s s 3");
  EXPECT_EQ(helpers(before, without_3, 3), (std::vector<std::uint32_t>{7, 5, 6}));
  EXPECT_EQ(helpers(before, without_3, 2), (std::vector<std::uint32_t>{7, 5}));
  EXPECT_EQ(helpers(before, without_3, 9), (std::vector<std::uint32_t>{7, 5, 6}));
  EXPECT_TRUE(helpers(before, without_3, 1).empty());
  EXPECT_TRUE(helpers(before, {0, 1, 3, 5, 6, 7, 8}, 3).empty()) << "two ranks are lost";
  EXPECT_TRUE(helpers(before, {0, 1, 2, 4, 5, 6, 7, 8}, 3).empty()) << "only a head is lost";
  EXPECT_TRUE(helpers(before, {0, 1, 2, 3, 5, 8}, 3).empty()) << "no spare is left";
}

TEST(LostInCatchUps, is_a_rank_whose_second_replacement_dies_before_it_has_caught_up) {
  Roster roster = start({6}, 3);
  ASSERT_EQ(text(roster), "0 1 H s s s");
  const auto lose = [](const Roster& before, Rank rank) {
    std::vector<std::uint32_t> live;
    for (std::uint32_t i = 0; i < before.size(); ++i)
      if (before[i].role != Role::rank || before[i].rank != rank) live.push_back(i);
    return std::pair(repair(before, live, HeadMode::rank).roster, lost_in_catch_ups(before, live));
  };
  for (int death = 1; death <= 2; ++death) {
    const auto [after, lost] = lose(roster, Rank{1});
    EXPECT_EQ(lost, std::nullopt) << death;
    roster = after;
  }
  EXPECT_EQ(lose(roster, Rank{0}).second, std::nullopt);
  EXPECT_EQ(lose(roster, Rank{1}).second, Rank{1});
  end_catch_ups(roster);
  EXPECT_EQ(lose(roster, Rank{1}).second, std::nullopt);
}

TEST(Repair, lets_a_head_that_would_be_alone_take_a_rank_so_that_its_store_stays_in_reach) {
  const Roster before = start({3, 3, 3}, 3);
  EXPECT_EQ(text(after(before, {3, 4}).roster), "0 1 H | 2 | 3 s H");
}

TEST(Repair, takes_spares_of_sick_nodes_last_also_for_ranks_of_those_nodes) {
  const Roster before = start({4, 4, 2}, 3);
  ASSERT_EQ(text(before), "0 1 2 H | 3 4 H s | s s");
  const auto repaired = [&](std::initializer_list<std::uint32_t> dead, const std::set<NodeId>& sick) {
    return text(after(before, dead, HeadMode::rank, sick).roster);
  };
  EXPECT_EQ(repaired({4}, {}), "0 1 2 H | 4 H 3 | s s");
  EXPECT_EQ(repaired({4}, {NodeId{1}}), "0 1 2 H | 4 H s | 3 H");
  EXPECT_EQ(repaired({0}, {NodeId{2}}), "1 2 H | 3 4 H 0 | s s");
  EXPECT_EQ(repaired({0, 1, 2}, {NodeId{2}}), "0 | 3 4 H 1 | 2 H") << "a head alone computes";
  EXPECT_EQ(repaired({4, 8, 9}, {NodeId{1}}), "0 1 2 H | 4 H 3") << "no other is left";
  EXPECT_EQ(repaired({4}, {NodeId{0}, NodeId{1}, NodeId{2}}), "0 1 2 H | 4 H 3 | s s") << "all are sick";
}

TEST(Repair, of_a_sick_node_keeps_its_store_in_reach) {
  const Roster before = start({3, 4, 3}, 4);
  ASSERT_EQ(text(before), "0 1 H | 2 3 H s | s s s");
  EXPECT_EQ(text(after(before, {3, 4}, HeadMode::rank, {NodeId{1}}).roster), "0 1 H | 2 H | 3 s H");
}

TEST(Repair, names_the_ranks_that_nobody_is_left_for) {
  const Roster before = start({3, 3, 1}, 1);
  const Repair repaired = after(before, {0, 3, 4});
  EXPECT_EQ(text(repaired.roster), "1 H | 2 | 0");
  ASSERT_EQ(repaired.unfilled.size(), 1U);
  EXPECT_EQ(repaired.unfilled[0].rank, Rank{3});
  EXPECT_EQ(repaired.unfilled[0].node, NodeId{1});
}

TEST(Repair, keeps_every_application_rank_exactly_once_whoever_dies) {
  const Roster before = start({3, 3, 3, 2}, 5);
  for (std::uint32_t dead = 0; dead < 1U << before.size(); ++dead) {
    std::vector<std::uint32_t> live;
    for (std::uint32_t i = 0; i < before.size(); ++i) {
      if ((dead >> i & 1U) == 0) live.push_back(i);
    }
    const Repair repaired = repair(before, live, HeadMode::rank);
    std::vector<std::uint32_t> ranks;
    for (std::size_t i = 0; i < live.size(); ++i) {
      const Member& was = before[live[i]];
      const Member& is = repaired.roster[i];
      EXPECT_EQ(was.node, is.node);
      if (was.role == Role::rank) {
        EXPECT_EQ(was, is) << "a survivor keeps its number";
      }
      if (is.role == Role::rank) ranks.push_back(is.rank.value);
    }
    for (const Member& hole : repaired.unfilled) ranks.push_back(hole.rank.value);
    std::ranges::sort(ranks);
    EXPECT_EQ(ranks, (std::vector<std::uint32_t>{0, 1, 2, 3})) << "dead: " << dead;
    if (!repaired.unfilled.empty()) {
      EXPECT_EQ(std::ranges::count(repaired.roster, Role::spare, &Member::role), 0);
    }
    for (const Member& member : repaired.roster) {
      if (member.role != Role::head) continue;
      const auto here = [&](const Member& other) { return other.node == member.node && other.role == Role::rank; };
      EXPECT_TRUE(std::ranges::any_of(repaired.roster, here)) << "a head alone; dead: " << dead;
    }
  }
}

TEST(WorldOf, has_application_ranks_in_order_and_then_heads_of_nodes_in_order) {
  const Roster roster = after(start({3, 3, 3}, 3), {0}).roster;
  ASSERT_EQ(text(roster), "1 H | 2 3 H | 0 s H");
  EXPECT_EQ(world_of(roster), (std::vector<std::uint32_t>{5, 0, 2, 3, 1, 4, 7}));
}

}  // namespace
}  // namespace cairn
