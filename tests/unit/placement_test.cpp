#include "topology/placement.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <random>
#include <set>

#include "support/layouts.hpp"
#include "topology/layout.hpp"

namespace cairn {
namespace {

using ::testing::ElementsAre;
using testing_support::layout_of;
using testing_support::sizes_of;

// ---- L2 ---------------------------------------------------------------------------------------------------

TEST(Partners, one_copy_without_rotation_is_the_ring) {
  const auto layout = layout_of(4, 1, 1);
  for (std::uint64_t k = 0; k < 3; ++k) {
    EXPECT_THAT(partners_of(layout, NodeId{0}, k), ElementsAre(NodeId{1}));
    EXPECT_THAT(partners_of(layout, NodeId{3}, k), ElementsAre(NodeId{0}));
  }
}

TEST(Partners, take_turns_as_the_formula_says) {
  const auto layout = layout_of(12, 2, 3);
  EXPECT_THAT(partners_of(layout, NodeId{0}, 0), ElementsAre(NodeId{1}, NodeId{2}));
  EXPECT_THAT(partners_of(layout, NodeId{0}, 1), ElementsAre(NodeId{3}, NodeId{5}));
  EXPECT_THAT(partners_of(layout, NodeId{0}, 2), ElementsAre(NodeId{6}, NodeId{10}));
  EXPECT_EQ(partners_of(layout, NodeId{7}, 5), partners_of(layout, NodeId{7}, 2));
}

TEST(Partners, are_distinct_and_not_the_owner_exactly_where_no_obstacle_is_named) {
  for (std::uint32_t n = 1; n <= 12; ++n)
    for (std::uint32_t copies = 1; copies <= 3; ++copies)
      for (std::uint32_t rotation = 1; rotation <= 3; ++rotation) {
        bool good = true;
        for (std::uint32_t k = 0; k < rotation; ++k)
          for (std::uint32_t i = 0; i < n; ++i) {
            std::set<NodeId> holders{NodeId{i}};
            for (const auto partner : partners_of(layout_of(n, copies, rotation), NodeId{i}, k))
              holders.insert(partner);
            good = good && holders.size() == copies + 1;
          }
        EXPECT_EQ(placement_obstacle(copies, rotation, n).empty(), good) << n << ' ' << copies << ' ' << rotation;
        EXPECT_TRUE(good || n < sufficient_nodes(copies, rotation)) << n << ' ' << copies << ' ' << rotation;
      }
}

// Every numbering of n nodes by up to three domains that the digits of `code` give.
std::vector<std::uint32_t> domains_by_code(std::uint32_t n, std::uint32_t code) {
  std::vector<std::uint32_t> domains(n);
  for (auto& domain : domains) {
    domain = code % 3;
    code /= 3;
  }
  return domains;
}

void expect_inverse(const Layout& layout) {
  for (std::uint64_t k = 0; k < layout.rotation + 1U; ++k) {
    std::vector<std::vector<NodeId>> held(layout.nodes);
    for (std::uint32_t i = 0; i < layout.nodes; ++i)
      for (const auto partner : partners_of(layout, NodeId{i}, k)) held[partner.value].push_back(NodeId{i});
    for (std::uint32_t i = 0; i < layout.nodes; ++i) ASSERT_EQ(owners_held_by(layout, NodeId{i}, k), held[i]);
  }
}

TEST(Partners, owners_held_by_is_the_inverse_for_all_small_clusters) {
  for (std::uint32_t n = 1; n <= 12; ++n)
    for (std::uint32_t copies = 1; copies <= 3; ++copies)
      for (std::uint32_t rotation = 1; rotation <= 3; ++rotation) {
        if (!placement_obstacle(copies, rotation, n).empty()) continue;
        expect_inverse(layout_of(n, copies, rotation));
        expect_inverse(layout_of(n, copies, rotation, domains_by_code(n, 7919 * n + copies)));
      }
}

TEST(Partners, leave_their_owners_domain_wherever_there_is_a_free_node_outside) {
  for (std::uint32_t n = 2; n <= 6; ++n)
    for (std::uint32_t code = 0; code < 729; ++code)
      for (std::uint32_t copies = 1; copies <= 3; ++copies) {
        if (!placement_obstacle(copies, 1, n).empty()) continue;
        const auto layout = layout_of(n, copies, 1, domains_by_code(n, code));
        for (std::uint32_t i = 0; i < n; ++i) {
          const auto own = layout.domain_of_node[i];
          const auto partners = partners_of(layout, NodeId{i}, 0);
          std::set<NodeId> holders(partners.begin(), partners.end());
          ASSERT_EQ(holders.size(), copies);
          ASSERT_FALSE(holders.contains(NodeId{i}));
          const auto is_outside = [&](NodeId node) { return layout.domain_of_node[node.value] != own; };
          const auto outside = static_cast<std::uint32_t>(std::count_if(
              layout.domain_of_node.begin(), layout.domain_of_node.end(), [&](auto d) { return d != own; }));
          const auto copies_outside =
              static_cast<std::uint32_t>(std::count_if(partners.begin(), partners.end(), is_outside));
          ASSERT_EQ(copies_outside, std::min(copies, outside));
        }
      }
}

TEST(Partners, a_moved_copy_goes_to_the_next_node_outside) {
  const auto layout = layout_of(6, 1, 1, {0, 0, 0, 1, 1, 1});
  EXPECT_THAT(partners_of(layout, NodeId{0}, 0), ElementsAre(NodeId{3}));
  EXPECT_THAT(partners_of(layout, NodeId{2}, 0), ElementsAre(NodeId{3}));
  EXPECT_THAT(partners_of(layout, NodeId{4}, 0), ElementsAre(NodeId{0}));
}

bool is_whole(const Layout& layout, std::uint64_t k, std::uint32_t lost) {
  for (std::uint32_t i = 0; i < layout.nodes; ++i) {
    if ((lost >> i & 1U) == 0) continue;
    const auto partners = partners_of(layout, NodeId{i}, k);
    if (std::all_of(partners.begin(), partners.end(), [&](NodeId node) { return (lost >> node.value & 1U) != 0; })) {
      return false;
    }
  }
  return true;
}

bool some_placement_is_whole(const Layout& layout, std::uint32_t lost) {
  for (std::uint64_t k = 0; k < layout.rotation; ++k) {
    if (is_whole(layout, k, lost)) return true;
  }
  return false;
}

std::uint32_t losses_promised(const Layout& layout) { return (layout.copies - 1) * layout.rotation + 1; }

TEST(Partners, are_never_avoided_nodes_while_enough_others_are_there) {
  for (std::uint32_t n = 3; n <= 7; ++n)
    for (std::uint32_t copies = 1; copies <= 2; ++copies)
      for (std::uint32_t rotation = 1; rotation <= 2; ++rotation)
        for (std::uint32_t bits = 1; bits < 1U << n; ++bits) {
          if (!placement_obstacle(copies, rotation, n).empty()) continue;
          auto layout = layout_of(n, copies, rotation);
          for (std::uint32_t i = 0; i < n; ++i)
            if ((bits >> i & 1U) != 0) layout.avoided.push_back(NodeId{i});
          for (std::uint32_t owner = 0; owner < n; ++owner) {
            const auto others = n - layout.avoided.size() - (layout.avoids(NodeId{owner}) ? 0 : 1);
            const auto partners = partners_of(layout, NodeId{owner}, rotation);
            const std::set<NodeId> distinct(partners.begin(), partners.end());
            ASSERT_EQ(distinct.size(), copies);
            ASSERT_FALSE(distinct.contains(NodeId{owner}));
            const auto sick = std::ranges::count_if(partners, [&](NodeId node) { return layout.avoids(node); });
            ASSERT_EQ(static_cast<std::size_t>(sick), copies - std::min<std::size_t>(copies, others))
                << n << ' ' << bits;
            for (std::uint32_t holder = 0; holder < n; ++holder) {
              const auto owners = owners_held_by(layout, NodeId{holder}, rotation);
              ASSERT_EQ(std::ranges::count(owners, NodeId{owner}), distinct.contains(NodeId{holder}) ? 1 : 0);
            }
          }
        }
}

TEST(Partners, leave_an_avoided_node_rather_than_their_owners_domain) {
  auto layout = layout_of(4, 1, 1, {0, 0, 1, 1});
  EXPECT_THAT(partners_of(layout, NodeId{0}, 0), ElementsAre(NodeId{2}));
  layout.avoided = {NodeId{2}};
  EXPECT_THAT(partners_of(layout, NodeId{0}, 0), ElementsAre(NodeId{3}));
  layout.avoided = {NodeId{2}, NodeId{3}};
  EXPECT_THAT(partners_of(layout, NodeId{0}, 0), ElementsAre(NodeId{1}));
}

TEST(Partners, rotation_survives_all_losses_that_the_theorem_promises) {
  for (std::uint32_t copies = 1; copies <= 3; ++copies)
    for (std::uint32_t rotation = 1; rotation <= 3; ++rotation) {
      const auto least = static_cast<std::uint32_t>(sufficient_nodes(copies, rotation)) + 1;
      for (std::uint32_t n = least; n <= std::min(14U, least + 3); ++n) {
        const auto layout = layout_of(n, copies, rotation);
        for (std::uint32_t lost = 0; lost < 1U << n; ++lost) {
          if (static_cast<std::uint32_t>(std::popcount(lost)) != losses_promised(layout)) continue;
          ASSERT_TRUE(some_placement_is_whole(layout, lost)) << n << ' ' << copies << ' ' << rotation << ' ' << lost;
        }
      }
    }
}

TEST(Partners, three_copies_in_three_turns_survive_seven_losses_of_31_nodes) {
  const auto layout = layout_of(31, 3, 3);
  ASSERT_EQ(losses_promised(layout), 7U);
  std::mt19937 random(20140302);
  for (int sample = 0; sample < 20000; ++sample) {
    std::uint32_t lost = 0;
    while (std::popcount(lost) < 7) lost |= 1U << random() % layout.nodes;
    ASSERT_TRUE(some_placement_is_whole(layout, lost)) << lost;
  }
}

TEST(Partners, without_rotation_a_node_and_all_its_partners_are_one_loss_too_many) {
  for (std::uint32_t copies = 1; copies <= 3; ++copies) {
    const auto layout = layout_of(6, copies, 1);
    std::uint32_t lost = 1;
    for (const auto partner : partners_of(layout, NodeId{0}, 0)) lost |= 1U << partner.value;
    EXPECT_FALSE(some_placement_is_whole(layout, lost));
  }
}

// ---- L3 ---------------------------------------------------------------------------------------------------

TEST(ErasureShape, every_member_has_one_part_in_every_column) {
  for (std::uint32_t n = 2; n <= 12; ++n)
    for (std::uint32_t m = 1; m < n; ++m) {
      for (std::uint32_t spared = 0; spared < n - m; ++spared) {
        const ErasureShape shape{n, m, spared};
        for (std::uint32_t column = 0; column < shape.columns(); ++column) {
          std::set<std::uint32_t> members;
          for (std::uint32_t row = 0; row < m; ++row) {
            ASSERT_TRUE(shape.holds_parity(shape.parity_holder(column, row)));
            members.insert(shape.parity_holder(column, row));
          }
          for (std::uint32_t row = 0; row < shape.data(); ++row) members.insert(shape.data_holder(column, row));
          ASSERT_EQ(members.size(), n) << n << ' ' << m << ' ' << spared << ' ' << column;
          ASSERT_LT(*members.rbegin(), n);
        }
      }
    }
}

TEST(ErasureShape, chunks_and_data_rows_are_inverse_to_each_other) {
  for (std::uint32_t n = 2; n <= 12; ++n)
    for (std::uint32_t m = 1; m < n; ++m) {
      for (std::uint32_t spared = 0; spared < n - m; ++spared) {
        const ErasureShape shape{n, m, spared};
        for (std::uint32_t member = 0; member < n; ++member) {
          std::set<std::uint32_t> columns;
          for (std::uint32_t chunk = 0; chunk < shape.chunks(member); ++chunk) {
            const auto column = shape.column_of_chunk(member, chunk);
            columns.insert(column);
            ASSERT_EQ(shape.chunk_in_column(member, column), chunk);
            const auto row = shape.data_row(member, column);
            ASSERT_LT(row, shape.data());
            ASSERT_EQ(shape.data_holder(column, row), member);
          }
          for (std::uint32_t row = 0; row < m && shape.holds_parity(member); ++row) {
            const auto column = shape.column_of_parity(member, row);
            columns.insert(column);
            ASSERT_EQ(shape.parity_holder(column, row), member);
          }
          ASSERT_EQ(columns.size(), shape.columns()) << "a member's chunks and parities lie in different columns";
        }
      }
    }
}

TEST(Groups, are_of_nearly_equal_size_and_hold_every_node_once) {
  for (std::uint32_t n = 1; n <= 40; ++n)
    for (std::uint32_t group = 2; group <= 9; ++group)
      for (std::uint32_t parity = 1; parity < group; ++parity)
        for (const auto& domains : {std::vector<std::uint32_t>{}, domains_by_code(n, 123456789)}) {
          const auto groups = make_groups(n, group, parity, domains);
          const auto count = (n + group - 1) / group;
          ASSERT_EQ(groups.empty(), n / count < parity + 1);
          std::set<NodeId> seen;
          for (const auto& members : groups) {
            ASSERT_LE(members.size(), group);
            ASSERT_GE(members.size(), parity + 1);
            ASSERT_LE(members.size() - n / count, 1U);
            seen.insert(members.begin(), members.end());
          }
          ASSERT_EQ(seen.size(), groups.empty() ? 0 : n);
        }
}

TEST(Groups, are_runs_of_nodes_without_domains) {
  const auto groups = make_groups(10, 4, 2, {});
  EXPECT_THAT(sizes_of(groups), ElementsAre(4, 3, 3));
  EXPECT_THAT(groups[1], ElementsAre(NodeId{4}, NodeId{5}, NodeId{6}));
}

TEST(Groups, share_each_domain_evenly_and_part_its_nodes) {
  // Four racks of four consecutive nodes: each group of four has one node of each rack.
  std::vector<std::uint32_t> racks(16);
  for (std::uint32_t i = 0; i < 16; ++i) racks[i] = i / 4;
  for (const auto& group : make_groups(16, 4, 1, racks)) {
    std::set<std::uint32_t> seen;
    for (const auto node : group) seen.insert(racks[node.value]);
    EXPECT_EQ(seen.size(), 4U);
  }
  // Two racks, groups of eight: four of each, and no two neighbours from one.
  std::vector<std::uint32_t> halves(16);
  for (std::uint32_t i = 0; i < 16; ++i) halves[i] = i / 8;
  for (const auto& group : make_groups(16, 8, 1, halves))
    for (std::size_t i = 0; i < 8; ++i) EXPECT_NE(halves[group[i].value], halves[group[(i + 1) % 8].value]);
}

}  // namespace
}  // namespace cairn
