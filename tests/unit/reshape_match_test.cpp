// Places of blocks, and who gives which element to whom, compared with the rules read out loud for each element.
#include <algorithm>
#include <map>
#include <random>

#include <gtest/gtest.h>

#include "reshape/placement.hpp"
#include "reshape/tile_match.hpp"

namespace cairn::reshape {
namespace {

using Random = std::mt19937_64;
using Lengths = std::vector<std::uint64_t>;

RegionInfo int32(const Lengths& shape) {
  RegionInfo info;
  info.name = "x";
  info.type = ElementType::int32;
  info.element_bytes = 4;
  info.shape = shape;
  return info;
}

RegionInfo stored(const Lengths& shape, const Lengths& global, std::vector<std::int64_t> offset) {
  RegionInfo info = int32(shape);
  info.global_shape = global;
  for (const std::int64_t at : offset) info.global_offset.push_back(static_cast<std::uint64_t>(at));
  return info;
}

TEST(Placement, of_a_new_rank_has_owned_elements_and_ghosts_that_lie_in_the_array) {
  const RegionInfo info = int32({5, 4});
  const Block block{{10, 4}, {0, 1}, {1, 1}, {1, 0}, {}};
  ASSERT_EQ(trouble_with(info, block), "");
  const Placement placement = wanted_placement(info, block);
  EXPECT_EQ(placement.owned, (Box{{0, 1}, {3, 3}}));
  EXPECT_EQ(placement.filled, (Box{{0, 0}, {4, 4}}));
  EXPECT_EQ(placement.memory.box, (Box{{-1, 0}, {5, 4}}));
}

TEST(Placement, that_is_impossible_is_refused) {
  const RegionInfo info = int32({5});
  RegionInfo scalar = info;
  scalar.shape.clear();
  EXPECT_NE(trouble_with(scalar, {{}, {}, {}, {}, {}}), "");
  EXPECT_EQ(trouble_with(info, {{5}, {0}, {}, {}, {}}), "");
  EXPECT_NE(trouble_with(info, {{5, 1}, {0, 0}, {}, {}, {}}), "");
  EXPECT_NE(trouble_with(info, {{5}, {1}, {}, {}, {}}), "");
  EXPECT_NE(trouble_with(info, {{5}, {0}, {3}, {3}, {}}), "");
  EXPECT_NE(trouble_with(info, {{5}, {0}, {1, 1}, {}, {}}), "");
  EXPECT_NE(trouble_with(info, {{5}, {0}, {1ULL << 63U}, {1ULL << 63U}, {}}), "");
  EXPECT_NE(trouble_with(info, {{1ULL << 60U}, {0}, {}, {}, {}}), "");
  EXPECT_NE(trouble_with(info, {{5}, {0}, {}, {}, {1ULL << 60U}}), "");
}

TEST(Placement, of_an_old_rank_leaves_out_its_ghosts_but_none_at_the_border) {
  const auto owned = [](const Lengths& shape, std::int64_t at, std::uint64_t ghosts) {
    return stored_placement(stored(shape, {10}, {at}), {10}, {ghosts})->owned;
  };
  EXPECT_EQ(owned({6}, 0, 1), (Box{{0}, {5}}));   // no ghosts outside
  EXPECT_EQ(owned({7}, -1, 1), (Box{{0}, {5}}));  // ghosts outside
  EXPECT_EQ(owned({6}, 3, 2), (Box{{5}, {2}}));
  EXPECT_EQ(owned({6}, 4, 2), (Box{{6}, {4}}));  // ends at the border
  EXPECT_EQ(owned({7}, 4, 2), (Box{{6}, {3}}));  // reaches beyond
  EXPECT_EQ(owned({2}, 4, 2).elements(), 0U);    // nothing but ghosts
  EXPECT_FALSE(stored_placement(stored({6}, {10}, {0}), {11}, {}));
  EXPECT_FALSE(stored_placement(stored({6}, {10}, {1LL << 60U}), {10}, {}));
}

std::int64_t draw(Random& random, std::int64_t low, std::int64_t high) {
  return std::uniform_int_distribution<std::int64_t>(low, high)(random);
}

Box draw_box(Random& random, const Box& within) {
  Box box = within;
  for (std::size_t d = 0; d < box.dimensions(); ++d) {
    box.first[d] += draw(random, 0, static_cast<std::int64_t>(within.extent[d]) - 1);
    box.extent[d] = static_cast<std::uint64_t>(draw(random, 0, within.end(d) - box.first[d]));
  }
  return box;
}

// The parts of a box that is cut at random.
void cut(Random& random, const Box& box, int parts, std::vector<Box>& out) {
  if (parts == 1) return out.push_back(box);
  const auto d = static_cast<std::size_t>(draw(random, 0, static_cast<std::int64_t>(box.dimensions()) - 1));
  Box low = box;
  Box high = box;
  low.extent[d] = static_cast<std::uint64_t>(draw(random, 0, static_cast<std::int64_t>(box.extent[d])));
  high.first[d] = low.end(d);
  high.extent[d] -= low.extent[d];
  cut(random, low, parts / 2, out);
  cut(random, high, parts - parts / 2, out);
}

bool has(const Box& box, const std::vector<std::int64_t>& index) {
  return contains(box, Box{index, Lengths(index.size(), 1)});
}

// What the rules say about one element of a wanted box.
void expect_sources(const std::vector<std::int64_t>& index, const std::vector<OldBox>& old, bool is_owned,
                    const std::vector<Source>& sources) {
  std::optional<Rank> giver;
  std::multimap<std::uint32_t, std::optional<std::uint32_t>> expected;
  for (const OldBox& one : old) {
    if (!has(one.owned, index)) continue;
    if (!giver) {
      giver = one.old_rank;
      expected.emplace(one.old_rank.value, std::nullopt);
    } else if (is_owned) {
      expected.emplace(one.old_rank.value, giver->value);
    }
  }
  std::multimap<std::uint32_t, std::optional<std::uint32_t>> found;
  for (const Source& source : sources) {
    if (!has(source.box, index)) continue;
    EXPECT_EQ(source.holder.value, source.old_rank.value + 100);
    found.emplace(source.old_rank.value,
                  source.same_as ? std::optional<std::uint32_t>(source.same_as->value) : std::nullopt);
  }
  ASSERT_EQ(found, expected);
}

std::vector<std::vector<std::int64_t>> elements_of(const Box& box) {
  std::vector<std::vector<std::int64_t>> all;
  for (const Box& one : pieces(box, 1)) all.push_back(one.first);
  return all;
}

TEST(TileMatch, takes_each_element_from_the_lowest_owner_and_compares_the_others) {
  Random random(5);
  for (int round = 0; round < 1500; ++round) {
    const auto dimensions = static_cast<std::size_t>(draw(random, 1, 3));
    Box array = whole(Lengths(dimensions, 0));
    for (std::uint64_t& length : array.extent) length = static_cast<std::uint64_t>(draw(random, 1, 6));
    std::vector<Box> parts;
    cut(random, array, static_cast<int>(draw(random, 1, 6)), parts);
    std::vector<OldBox> old;
    for (const Box& box : parts) old.push_back({box, Rank{static_cast<std::uint32_t>(old.size())}, {}});
    for (auto i = draw(random, 0, 3); i > 0; --i)
      old.push_back({draw_box(random, array), Rank{static_cast<std::uint32_t>(old.size())}, {}});
    for (OldBox& one : old) one.holder.value = one.old_rank.value + 100;
    const std::vector<OldBox> in_order = old;
    std::ranges::shuffle(old, random);
    parts.clear();
    cut(random, array, static_cast<int>(draw(random, 1, 6)), parts);
    std::vector<WantedBox> wanted;
    for (const Box& box : parts) {
      Box filled = box;
      for (std::size_t d = 0; d < dimensions && !box.empty(); ++d) {
        filled.first[d] -= std::min(draw(random, 0, 2), filled.first[d]);
        filled.extent[d] =
            static_cast<std::uint64_t>(std::min(box.end(d) + draw(random, 0, 2), array.end(d)) - filled.first[d]);
      }
      wanted.push_back({box, filled, Rank{static_cast<std::uint32_t>(wanted.size())}});
    }
    const Box tile = draw_box(random, array);
    if (tile.empty()) continue;
    const TileMatch match = match_tile(tile, old, wanted);
    ASSERT_FALSE(match.finding) << text(match.finding->range);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      for (const auto& index : elements_of(array)) {
        const bool asked = has(tile, index) && has(wanted[i].filled, index);
        expect_sources(index, asked ? in_order : std::vector<OldBox>{}, has(wanted[i].owned, index), match.sources[i]);
      }
    }
    ASSERT_FALSE(HasFailure()) << "round " << round;
  }
}

OldBox old_box(std::int64_t first, std::uint64_t count, std::uint32_t rank) {
  return {{{first}, {count}}, Rank{rank}, {}};
}
WantedBox wanted_box(std::int64_t first, std::uint64_t count, std::uint32_t rank) {
  return {{{first}, {count}}, {{first}, {count}}, Rank{rank}};
}

TEST(TileMatch, finds_parts_that_overlap_or_leave_a_gap) {
  const Box tile{{10}, {10}};
  const std::vector<OldBox> old{old_box(0, 30, 0)};
  EXPECT_FALSE(match_tile(tile, old, {wanted_box(0, 15, 0), wanted_box(15, 15, 1)}).finding);
  const auto overlap = match_tile(tile, old, {wanted_box(14, 16, 4), wanted_box(0, 16, 7)}).finding;
  ASSERT_TRUE(overlap);
  EXPECT_EQ(*overlap, (Finding{.cause = Cause::parts_overlap, .ranks = {4, 7}, .range = {{14}, {2}}}));
  const auto gap = match_tile(tile, old, {wanted_box(0, 13, 4), wanted_box(15, 15, 7)}).finding;
  ASSERT_TRUE(gap);
  EXPECT_EQ(*gap, (Finding{.cause = Cause::parts_leave_gap, .range = {{13}, {2}}}));
  EXPECT_TRUE(match_tile(tile, old, {}).finding);
  // Overlap and gap of one size.
  EXPECT_TRUE(match_tile(tile, old, {wanted_box(0, 15, 0), wanted_box(14, 5, 1)}).finding);
}

TEST(TileMatch, finds_what_no_old_rank_has) {
  const auto gap = match_tile({{10}, {10}}, {old_box(0, 14, 0), old_box(16, 14, 1)}, {wanted_box(0, 30, 0)}).finding;
  ASSERT_TRUE(gap);
  EXPECT_EQ(*gap, (Finding{.cause = Cause::old_gap, .range = {{14}, {2}}}));
}

TEST(TileMatch, of_many_boxes_in_a_row_looks_only_at_neighbours) {
  constexpr std::uint32_t kBoxes = 40'000;
  std::vector<OldBox> old;
  std::vector<WantedBox> wanted;
  for (std::uint32_t i = 0; i < kBoxes; ++i) {
    old.push_back(old_box(3 * static_cast<std::int64_t>(i), 3, i));
    wanted.push_back(wanted_box(2 * static_cast<std::int64_t>(i), 2, i));
  }
  for (std::uint32_t i = 0; i < kBoxes / 2; ++i)
    wanted.push_back(wanted_box(2 * kBoxes + 2 * static_cast<std::int64_t>(i), 2, kBoxes + i));
  const TileMatch match = match_tile({{0}, {3 * kBoxes}}, old, wanted);
  EXPECT_FALSE(match.finding);
  EXPECT_EQ(match.sources.back().size(), 1U);
}

}  // namespace
}  // namespace cairn::reshape
