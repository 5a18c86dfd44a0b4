// What `ckpt-tool inspect` shows a person of regions that are alike or differ over the ranks.
#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "inspection.hpp"

namespace cairn::test {
namespace {

using ckpt_tool::Inspection;
using ckpt_tool::RegionGroup;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr std::uint32_t kRanks = 48;
constexpr std::uint64_t kColumns = 960;

RegionInfo plate(std::uint64_t rows, std::uint64_t first_row = 0, std::uint64_t all_rows = 0) {
  RegionInfo info{"plate", ElementType::float64, 8, "", {rows, kColumns}, {}, {}};
  if (all_rows != 0) info.global_shape = {all_rows, kColumns};
  if (all_rows != 0) info.global_offset = {first_row, 0};
  return info;
}

// Of 48 ranks on as many nodes, none of whose stores is there.
std::string text_of(const std::vector<RegionGroup>& regions, bool details = false) {
  const ckpt_tool::OpenStores opened{"heat", {}, {}, {}};
  const Survey survey;
  SnapshotView snapshot;
  snapshot.layout.nodes = kRanks;
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) snapshot.layout.node_of_rank.push_back(NodeId{rank});
  return inspection_text(Inspection{opened, survey, snapshot, {}, regions}, details);
}

// Each rank has the region that `make` gives it.
template <class Make>
std::vector<RegionGroup> each_rank(Make make) {
  std::vector<RegionGroup> groups;
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) groups.push_back({{make(rank)}, "", {Rank{rank}}});
  return groups;
}

TEST(InspectionText, is_short_about_equal_ranks) {
  const auto regions = each_rank([](std::uint32_t rank) { return plate(600, 600UL * rank, 600UL * kRanks); });
  const std::string text = text_of(regions);
  EXPECT_THAT(text, HasSubstr("  ranks 0-47: plate float64[600][960], 4.4 MiB each, part of [28800][960]\n"));
  EXPECT_LT(std::ranges::count(text, '\n'), 15) << text;
  EXPECT_THAT(text_of(regions, true), HasSubstr("    rank 47 at [28200][0]\n"));
}

TEST(InspectionText, gives_ranks_with_another_shape_a_line_of_their_own) {
  const std::string text = text_of(each_rank([](std::uint32_t rank) { return plate(rank % 16 == 0 ? 601 : 600); }));
  EXPECT_THAT(text, AllOf(HasSubstr("  ranks 0, 16, 32: plate float64[601][960], 4.4 MiB each\n"),
                          HasSubstr("  ranks 1-15, 17-31, 33-47: plate float64[600][960], 4.4 MiB each\n")));
}

TEST(InspectionText, keeps_regions_of_one_name_and_several_types_apart) {
  const std::string text = text_of(each_rank([](std::uint32_t rank) {
    const bool first = rank == 0;
    return RegionInfo{"step", first ? ElementType::int64 : ElementType::int32, first ? 8U : 4U, "", {}, {}, {}};
  }));
  EXPECT_THAT(text, AllOf(HasSubstr("  rank 0: step int64, 8 B\n"), HasSubstr("  ranks 1-47: step int32, 4 B each\n")));
}

TEST(InspectionText, sums_up_a_region_that_has_another_shape_on_every_rank) {
  const auto regions = each_rank([](std::uint32_t rank) { return plate(100 + rank); });
  EXPECT_THAT(text_of(regions), AllOf(HasSubstr("  ranks 0-47: plate float64, 48 shapes, 750.0 KiB to 1.1 MiB each\n"),
                                      Not(HasSubstr("[110]"))));
  EXPECT_THAT(text_of(regions, true), HasSubstr("  rank 10: plate float64[110][960], 825.0 KiB\n"));
}

TEST(InspectionText, shows_cpp_types_as_in_their_source) {
  const auto regions = each_rank(
      [](std::uint32_t) { return RegionInfo{"particles", ElementType::opaque, 24, "8Particle", {5}, {}, {}}; });
  EXPECT_THAT(text_of(regions), HasSubstr("  ranks 0-47: particles opaque(Particle, 24 B)[5], 120 B each\n"));
}

TEST(InspectionText, says_of_which_ranks_the_regions_cannot_be_read) {
  auto regions = each_rank([](std::uint32_t) { return plate(600); });
  regions[7] = {{}, "no shard and no copy of it was found", {Rank{7}}};
  EXPECT_THAT(text_of(regions), AllOf(HasSubstr("  ranks 0-6, 8-47: plate"),
                                      HasSubstr("  rank 7: no shard and no copy of it was found\n")));
}

TEST(InspectionText, says_which_regions_another_number_of_ranks_can_have_by_their_places) {
  auto regions = each_rank([](std::uint32_t rank) { return plate(600, 600UL * rank, 600UL * kRanks); });
  for (RegionGroup& group : regions) group.regions.push_back({"step", ElementType::int32, 4, "", {}, {}, {}});
  EXPECT_THAT(text_of(regions), AllOf(HasSubstr("cover the array: plate\n"), HasSubstr("kinds: step\n")));
}

TEST(InspectionText, names_elements_of_a_global_array_that_no_rank_has) {
  auto regions = each_rank([](std::uint32_t rank) { return plate(600, 600UL * rank, 600UL * kRanks); });
  regions[5].regions[0] = plate(599, 600UL * 5, 600UL * kRanks);
  EXPECT_THAT(text_of(regions), AllOf(HasSubstr("kinds: plate\n"), HasSubstr("plate: no rank has [3599][0..959]"),
                                      Not(HasSubstr("cover"))));
  // Ghosts are not owned.
  regions[5].regions[0] = plate(600, 600UL * 5, 600UL * kRanks);
  regions[5].regions[0].ghosts_before = {0, 0};
  regions[5].regions[0].ghosts_after = {2, 0};
  EXPECT_THAT(text_of(regions), HasSubstr("plate: no rank has [3598..3599][0..959]"));
  regions[5].regions[0] = plate(600);
  EXPECT_THAT(text_of(regions), HasSubstr("plate: not all ranks have a place in the same array"));
}

}  // namespace
}  // namespace cairn::test
