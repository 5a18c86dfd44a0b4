// How regions of several ranks make up one array.
#include "format/joined_regions.hpp"

#include <gtest/gtest.h>

namespace cairn::test {
namespace {

using Shape = std::vector<std::uint64_t>;

RegionInfo region(Shape shape, Shape array = {}, Shape offset = {}) {
  return {"u", ElementType::float64, 8, "", std::move(shape), std::move(array), std::move(offset)};
}

struct Regions {
  std::vector<RegionInfo> infos;
  [[nodiscard]] std::vector<const RegionInfo*> all() const {
    std::vector<const RegionInfo*> pointers;
    for (const RegionInfo& info : infos) pointers.push_back(&info);
    return pointers;
  }
  [[nodiscard]] std::optional<JoinedRegions> joined() const { return join(all()); }
  [[nodiscard]] bool overlap() const { return have_common_elements(*joined()); }
};

TEST(JoinedRegions, lie_where_their_places_say) {
  const Regions blocks{{region({2, 3}, {4, 5}, {0, 0}), region({2, 2}, {4, 5}, {0, 3}), region({2, 3}, {4, 5}, {2, 0}),
                        region({2, 2}, {4, 5}, {2, 3})}};
  const auto joined = blocks.joined();
  ASSERT_TRUE(joined);
  EXPECT_TRUE(joined->placed);
  EXPECT_EQ(joined->shape, (Shape{4, 5}));
  EXPECT_EQ(joined->parts[3].start, (Shape{2, 3}));
  EXPECT_FALSE(blocks.overlap());
}

// What is copied from other ranks is not theirs, also where it lies outside of the array.
TEST(JoinedRegions, have_no_ghosts) {
  RegionInfo left = region({4, 3}, {2, 5}, {0, 0});
  left.ghosts_before = {1, 0};
  left.ghosts_after = {1, 1};
  RegionInfo right = region({4, 4}, {2, 5}, {0, 2});
  right.ghosts_before = {1, 1};
  right.ghosts_after = {1, 0};
  const Regions blocks{{left, right}};
  const auto joined = blocks.joined();
  ASSERT_TRUE(joined);
  EXPECT_TRUE(joined->placed);
  EXPECT_EQ(joined->parts[0].extent, (Shape{2, 2}));
  EXPECT_EQ(joined->parts[0].inner, (Shape{1, 0}));
  EXPECT_EQ(joined->parts[1].start, (Shape{0, 2}));
  EXPECT_EQ(joined->parts[1].extent, (Shape{2, 3}));
  EXPECT_EQ(joined->parts[1].inner, (Shape{1, 1}));
  EXPECT_FALSE(blocks.overlap());
}

TEST(JoinedRegions, follow_each_other_without_places) {
  const Regions rows{{region({2, 3}), region({0, 3}), region({5, 3})}};
  const auto joined = rows.joined();
  ASSERT_TRUE(joined);
  EXPECT_FALSE(joined->placed);
  EXPECT_EQ(joined->shape, (Shape{7, 3}));
  EXPECT_EQ(joined->parts[2].start, (Shape{2, 0}));
  EXPECT_FALSE(rows.overlap());
}

TEST(JoinedRegions, of_scalars_are_a_list) {
  const auto joined = Regions{{region({}), region({})}}.joined();
  ASSERT_TRUE(joined);
  EXPECT_EQ(joined->shape, (Shape{2}));
  EXPECT_EQ(joined->parts[1].start, (Shape{1}));
}

TEST(JoinedRegions, of_which_one_has_no_place_or_another_array_follow_each_other) {
  for (const RegionInfo& other : {region({2, 3}), region({2, 3}, {5, 3}, {2, 0}), region({2, 3}, {4, 3}, {3, 0})}) {
    const auto joined = Regions{{region({2, 3}, {4, 3}, {0, 0}), other}}.joined();
    ASSERT_TRUE(joined);
    EXPECT_FALSE(joined->placed);
    EXPECT_EQ(joined->shape, (Shape{4, 3}));
  }
}

TEST(JoinedRegions, differ_in_one_length_at_most) {
  EXPECT_FALSE((Regions{{region({2, 3}), region({2, 4})}}.joined()));
  EXPECT_FALSE((Regions{{region({2}), region({2, 1})}}.joined()));
  EXPECT_FALSE((Regions{{region({}), region({1})}}.joined()));
  RegionInfo other = region({2, 3});
  other.type = ElementType::int64;
  EXPECT_FALSE((Regions{{region({2, 3}), other}}.joined()));
}

TEST(JoinedRegions, with_common_elements_are_found) {
  const auto pair = [](Shape first, Shape second) {
    return Regions{{region({3, 3}, {9, 9}, std::move(first)), region({3, 3}, {9, 9}, std::move(second))}}.overlap();
  };
  EXPECT_TRUE(pair({0, 0}, {2, 2}));
  EXPECT_TRUE(pair({2, 2}, {0, 0}));
  EXPECT_FALSE(pair({0, 0}, {3, 0}));
  EXPECT_FALSE(pair({0, 0}, {0, 3}));
  EXPECT_FALSE(pair({0, 5}, {2, 2}));
  EXPECT_TRUE(pair({4, 4}, {4, 4}));
  const Regions empty{{region({3, 3}, {9, 9}, {0, 0}), region({0, 3}, {9, 9}, {1, 0})}};
  EXPECT_FALSE(empty.overlap());
}

// A region that is closed is not compared with later ones, whatever came between.
TEST(JoinedRegions, are_compared_with_all_that_are_there_at_the_same_time) {
  const Regions regions{
      {region({8, 1}, {9, 9}, {0, 0}), region({1, 1}, {9, 9}, {1, 4}), region({1, 1}, {9, 9}, {7, 0})}};
  EXPECT_TRUE(regions.overlap());
}

}  // namespace
}  // namespace cairn::test
