#include "topology/layout.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "support/facts.hpp"
#include "support/layouts.hpp"
#include "topology/placement.hpp"

namespace cairn {
namespace {

using test::Fails;
using test::Names;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing_support::layout_of;

Topology topology_of(std::uint32_t nodes, std::vector<std::uint32_t> domains = {}) {
  auto topology = *make_topology(std::vector<std::string>(nodes, "host"), {1}, HeadMode::thread);
  topology.domain_of_node = std::move(domains);
  return topology;
}

using Wish = LayoutWishes::Wish;

LayoutWishes wishes(std::uint32_t copies, std::uint32_t rotation, std::uint32_t group, std::uint32_t parity) {
  return {copies, rotation, group, parity, Wish::where_possible, Wish::where_possible, false};
}

// ---- Decisions --------------------------------------------------------------------------------------------

TEST(LayoutDecision, carries_everything_on_enough_nodes_without_a_word) {
  const auto decision = decide_layout(topology_of(16), wishes(1, 1, 8, 2));
  ASSERT_TRUE(decision) << decision.error().text();
  EXPECT_EQ(decision->layout.copies, 1U);
  EXPECT_EQ(decision->layout.parity, 2U);
  EXPECT_THAT(testing_support::sizes_of(decision->layout.groups), ElementsAre(8, 8));
  EXPECT_THAT(decision->notes, IsEmpty());
  EXPECT_THAT(decision->warnings, IsEmpty());
}

TEST(LayoutDecision, works_on_one_node_with_a_note_for_each_level_left_at_its_default) {
  const auto decision = decide_layout(topology_of(1), wishes(1, 1, 8, 2));
  ASSERT_TRUE(decision) << decision.error().text();
  EXPECT_EQ(decision->layout.copies, 0U);
  EXPECT_THAT(decision->layout.groups, IsEmpty());
  EXPECT_THAT(decision->notes, ElementsAre(Names({"L2", "2", "1"}), Names({"L3", "[erasure] parity", "2", "3", "1"})));
  EXPECT_THAT(decision->warnings, IsEmpty());
}

TEST(LayoutDecision, is_silent_about_levels_that_are_not_wanted) {
  auto wish = wishes(1, 1, 8, 2);
  wish.for_copies = Wish::off;
  wish.for_parity = Wish::off;
  const auto decision = decide_layout(topology_of(4), wish);
  ASSERT_TRUE(decision) << decision.error().text();
  EXPECT_THAT(decision->notes, IsEmpty());
  EXPECT_EQ(decision->layout.copies, 0U);
  EXPECT_THAT(decision->layout.groups, IsEmpty());
}

TEST(LayoutDecision, refuses_what_the_user_insists_on_and_says_what_to_change) {
  auto wish = wishes(4, 1, 8, 2);
  wish.for_copies = Wish::insisted;
  EXPECT_THAT(decide_layout(topology_of(4), wish),
              Fails(Code::config, {"[partner] copies", "4", "5", "1", "[levels] l2", "off"}));
  wish = wishes(2, 2, 8, 2);
  wish.for_copies = Wish::insisted;
  EXPECT_THAT(decide_layout(topology_of(5), wish),
              Fails(Code::config, {"[partner] copies", "rotation", "2", "5", "copy 2", "6", "1"}));
  wish = wishes(1, 1, 8, 7);
  wish.for_parity = Wish::insisted;
  EXPECT_THAT(decide_layout(topology_of(9), wish),
              Fails(Code::config, {"[erasure] group", "8", "parity", "7", "9", "2", "4", "3"}));
  wish = wishes(1, 1, 8, 2);
  wish.for_parity = Wish::insisted;
  EXPECT_THAT(decide_layout(topology_of(2), wish),
              Fails(Code::config, {"[erasure] parity", "2", "3", "1", "[levels] l3", "off"}));
}

TEST(LayoutDecision, degrades_with_a_warning_on_a_restart) {
  auto wish = wishes(4, 1, 8, 2);
  wish.for_copies = Wish::insisted;
  wish.restart = true;
  const auto decision = decide_layout(topology_of(4), wish);
  ASSERT_TRUE(decision) << decision.error().text();
  EXPECT_EQ(decision->layout.copies, 0U);
  EXPECT_THAT(testing_support::sizes_of(decision->layout.groups), ElementsAre(4));
  EXPECT_THAT(decision->warnings, ElementsAre(Names({"L2", "[partner] copies", "4", "5"})));
}

TEST(LayoutDecision, warns_where_the_theorem_would_promise_more_than_the_nodes_carry) {
  const auto at_bound = decide_layout(topology_of(6), wishes(2, 2, 8, 2));
  ASSERT_TRUE(at_bound) << at_bound.error().text();
  EXPECT_THAT(at_bound->warnings, ElementsAre(Names({"L2", "[partner] copies", "rotation", "2", "6", "3"})));
  EXPECT_THAT(decide_layout(topology_of(7), wishes(2, 2, 8, 2))->warnings, IsEmpty());
  EXPECT_THAT(decide_layout(topology_of(2), wishes(1, 1, 2, 1))->warnings, IsEmpty());
  EXPECT_THAT(decide_layout(topology_of(3), wishes(2, 1, 3, 1))->warnings, IsEmpty());
}

TEST(LayoutDecision, warns_of_domains_that_are_too_large_and_notes_that_they_void_the_theorem) {
  const auto decision = decide_layout(topology_of(7, {0, 0, 0, 0, 0, 0, 1}), wishes(2, 2, 8, 2));
  ASSERT_TRUE(decision) << decision.error().text();
  EXPECT_THAT(decision->notes, ElementsAre(Names({"L2", "rotation", "2"})));
  EXPECT_THAT(decision->warnings,
              ElementsAre(Names({"L2", "node 0", "node 2"}), Names({"L3", "node 1", "parity", "2", "group 0"})));
}

TEST(LayoutDecision, takes_sick_nodes_out_of_their_duties_for_others_and_says_so) {
  auto wish = wishes(1, 1, 8, 1);
  wish.avoid = {NodeId{1}, NodeId{1}};
  const auto decision = decide_layout(topology_of(4), wish);
  ASSERT_TRUE(decision) << decision.error().text();
  const Layout& layout = decision->layout;
  EXPECT_THAT(layout.avoided, ElementsAre(NodeId{1}));
  EXPECT_THAT(partners_of(layout, NodeId{0}, 0), ElementsAre(NodeId{2}));
  EXPECT_THAT(partners_of(layout, NodeId{1}, 0), ElementsAre(NodeId{2})) << "its own shards are copied";
  EXPECT_THAT(layout.groups, ElementsAre(ElementsAre(NodeId{0}, NodeId{2}, NodeId{3}, NodeId{1})));
  EXPECT_EQ(layout.shape_of(0).spared, 1U);
  EXPECT_THAT(decision->notes, ElementsAre(Names({"node 1"})));
  EXPECT_THAT(decision->warnings, IsEmpty());
  EXPECT_TRUE(check(layout));
}

TEST(LayoutDecision, uses_sick_nodes_if_there_are_too_few_others_and_says_so) {
  auto wish = wishes(1, 1, 8, 1);
  wish.avoid = {NodeId{1}};
  const auto two = decide_layout(topology_of(2), wish);
  ASSERT_TRUE(two) << two.error().text();
  EXPECT_EQ(two->layout, decide_layout(topology_of(2), wishes(1, 1, 8, 1))->layout);
  EXPECT_THAT(two->warnings, ElementsAre(Names({"node 1"})));
  wish.avoid = {NodeId{1}, NodeId{2}, NodeId{3}};
  const auto four = decide_layout(topology_of(4), wish);
  ASSERT_TRUE(four) << four.error().text();
  EXPECT_THAT(four->layout.avoided, IsEmpty()) << "node 0 would have to hold everything";
  EXPECT_THAT(four->warnings, ElementsAre(Names({"node 1"}), Names({"node 2"}), Names({"node 3"})));
}

TEST(LayoutDecision, spares_sick_nodes_as_far_as_it_can) {
  auto wish = wishes(2, 1, 8, 1);
  wish.avoid = {NodeId{0}};
  const auto decision = decide_layout(topology_of(3), wish);
  ASSERT_TRUE(decision) << decision.error().text();
  EXPECT_THAT(partners_of(decision->layout, NodeId{1}, 0), ElementsAre(NodeId{2}, NodeId{0}));
  EXPECT_EQ(decision->layout.shape_of(0).spared, 1U);
  EXPECT_THAT(decision->warnings, ElementsAre(Names({"node 0"})));
}

TEST(LayoutDecision, is_the_same_as_ever_if_nothing_is_held_for_others) {
  LayoutWishes wish = wishes(1, 1, 8, 2);
  wish.for_copies = wish.for_parity = Wish::off;
  wish.avoid = {NodeId{1}};
  const auto decision = decide_layout(topology_of(4), wish);
  ASSERT_TRUE(decision) << decision.error().text();
  EXPECT_THAT(decision->layout.avoided, IsEmpty());
  EXPECT_THAT(decision->notes, IsEmpty());
}

TEST(LayoutDecision, refuses_settings_out_of_range) {
  EXPECT_FALSE(decide_layout(topology_of(4), wishes(0, 1, 8, 2)));
  EXPECT_FALSE(decide_layout(topology_of(4), wishes(1, 9, 8, 2)));
  EXPECT_FALSE(decide_layout(topology_of(4), wishes(1, 1, 256, 2)));
  EXPECT_FALSE(decide_layout(topology_of(4), wishes(1, 1, 4, 4)));
}

// ---- Layouts ----------------------------------------------------------------------------------------------

Layout rich_layout() {
  auto layout = layout_of(9, 2, 2, {0, 1, 2, 0, 1, 2, 0, 1, 2});
  layout.node_of_rank = {NodeId{3}, NodeId{3}, NodeId{0}, NodeId{8}, NodeId{1}, NodeId{0}, NodeId{0}};
  layout.groups = make_groups(9, 5, 2, layout.domain_of_node);
  layout.parity = 2;
  return layout;
}

TEST(Layout, finds_ranks_and_places_of_nodes) {
  const auto layout = rich_layout();
  EXPECT_THAT(layout.ranks_on(NodeId{0}), ElementsAre(Rank{2}, Rank{5}, Rank{6}));
  EXPECT_THAT(layout.ranks_on(NodeId{7}), IsEmpty());
  for (std::uint32_t i = 0; i < layout.nodes; ++i) {
    const auto place = layout.place_in_group(NodeId{i});
    EXPECT_EQ(layout.groups.at(place.group).at(place.index), NodeId{i});
  }
}

TEST(LayoutBytes, come_back_as_the_layout_they_were) {
  auto arranged = rich_layout();
  arranged.arrangement = 2;
  EXPECT_NE(arranged.id(), rich_layout().id());
  for (const auto& layout :
       {rich_layout(), arranged, layout_of(1, 0, 1), layout_of(12, 3, 1), Layout{{}, 1, {}, 0, 1, {}, 0, 0}}) {
    const auto decoded = decode_layout(encode(layout));
    ASSERT_TRUE(decoded) << decoded.error().text();
    EXPECT_EQ(*decoded, layout);
    EXPECT_EQ(decoded->id(), layout.id());
  }
}

TEST(LayoutBytes, come_back_with_the_nodes_that_are_avoided) {
  auto layout = layout_of(5, 1, 1);
  layout.avoided = {NodeId{1}, NodeId{4}};
  EXPECT_EQ(*decode_layout(encode(layout)), layout);
  layout.arrangement = 2;
  EXPECT_EQ(*decode_layout(encode(layout)), layout);
  auto other = layout;
  other.avoided = {NodeId{1}};
  EXPECT_NE(other.id(), layout.id());
  layout.avoided = {NodeId{4}, NodeId{1}};
  EXPECT_THAT(decode_layout(encode(layout)), Fails(Code::corrupt, {"node 1", "node 4"}));
  layout.avoided = {NodeId{5}};
  EXPECT_THAT(decode_layout(encode(layout)), Fails(Code::corrupt, {"node 5"}));
  layout = layout_of(3, 1, 1);
  layout.groups = {{NodeId{0}, NodeId{1}, NodeId{2}}};
  layout.parity = 1;
  layout.avoided = {NodeId{1}};
  EXPECT_THAT(decode_layout(encode(layout)), Fails(Code::corrupt, {"group 0"}));
}

TEST(LayoutBytes, give_different_layouts_different_ids) {
  auto layout = rich_layout();
  std::set<LayoutId> ids{layout.id()};
  std::swap(layout.node_of_rank[0], layout.node_of_rank[2]);
  ids.insert(layout.id());
  layout.rotation = 1;
  ids.insert(layout.id());
  std::swap(layout.groups[0], layout.groups[1]);
  ids.insert(layout.id());
  layout.domain_of_node.clear();
  ids.insert(layout.id());
  EXPECT_EQ(ids.size(), 5U);
}

TEST(LayoutBytes, are_few_for_forty_thousand_ranks) {
  auto layout = layout_of(1000, 1, 1);
  layout.node_of_rank.clear();
  for (std::uint32_t rank = 0; rank < 40000; ++rank) layout.node_of_rank.push_back(NodeId{rank / 40});
  layout.groups = make_groups(1000, 8, 2, {});
  layout.parity = 2;
  const auto blocks = encode(layout);
  EXPECT_LT(blocks.size(), 13000U);
  for (std::uint32_t rank = 0; rank < 40000; ++rank) layout.node_of_rank[rank] = NodeId{rank % 1000};
  EXPECT_LT(encode(layout).size(), 1000U);
  EXPECT_EQ(decode_layout(encode(layout))->node_of_rank, layout.node_of_rank);
}

TEST(LayoutBytes, cut_short_anywhere_are_an_error) {
  const auto bytes = encode(rich_layout());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const auto decoded = decode_layout(Bytes(bytes).first(size));
    ASSERT_FALSE(decoded) << size;
    ASSERT_EQ(decoded.error().code, Code::corrupt);
  }
  auto longer = bytes;
  longer.push_back(std::byte{0});
  EXPECT_THAT(decode_layout(longer), Fails(Code::corrupt, {"1"}));
  // An arrangement of 0 is not written.
  longer.resize(bytes.size() + 4);
  EXPECT_THAT(decode_layout(longer), Fails(Code::corrupt));
}

TEST(LayoutBytes, with_any_byte_changed_are_an_error_or_a_different_sound_layout) {
  const auto layout = rich_layout();
  const auto bytes = encode(layout);
  for (std::size_t at = 0; at < bytes.size(); ++at)
    for (const auto flip : {0x01, 0x80, 0xff}) {
      auto damaged = bytes;
      damaged[at] ^= static_cast<std::byte>(flip);
      const auto decoded = decode_layout(damaged);
      if (!decoded) continue;
      ASSERT_NE(*decoded, layout) << at;
      for (const auto node : decoded->node_of_rank) ASSERT_LT(node.value, decoded->nodes);
      ASSERT_TRUE(placement_obstacle(decoded->copies, decoded->rotation, decoded->nodes).empty());
    }
}

TEST(LayoutBytes, that_cannot_be_are_errors_that_say_what_should_be) {
  const auto damaged = [](auto change) {
    auto layout = rich_layout();
    change(layout);
    return decode_layout(encode(layout));
  };
  EXPECT_THAT(damaged([](Layout& l) { l.node_of_rank[2] = NodeId{9}; }), Fails(Code::corrupt, {"node 9", "9"}));
  EXPECT_THAT(damaged([](Layout& l) { l.arrangement = 3'000'000'000; }),
              Fails(Code::corrupt, {"3000000000", "2147483648"}));
  EXPECT_THAT(damaged([](Layout& l) { l.domain_of_node.pop_back(); }), Fails(Code::corrupt, {"8", "9"}));
  EXPECT_THAT(damaged([](Layout& l) { l.copies = 9; }),
              Fails(Code::corrupt, {"copies", "9", "rotation", "2", "0", "8", "1"}));
  EXPECT_THAT(damaged([](Layout& l) { l.rotation = 0; }),
              Fails(Code::corrupt, {"copies", "2", "rotation", "0", "8", "1"}));
  EXPECT_THAT(damaged([](Layout& l) { l.groups[0][0] = l.groups[1][0]; }), Fails(Code::corrupt, {"node 1"}));
  EXPECT_THAT(damaged([](Layout& l) { l.parity = 4; }), Fails(Code::corrupt, {"group 1", "4", "5", "255"}));
  EXPECT_THAT(damaged([](Layout& l) { l.parity = 0; }), Fails(Code::corrupt, {"parity", "0", "1"}));
  EXPECT_THAT(damaged([](Layout& l) { l.groups.pop_back(); }), Fails(Code::corrupt, {"5", "9"}));
}

}  // namespace
}  // namespace cairn
