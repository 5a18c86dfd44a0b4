// What a rehearsal draws, compares and says.
#include "rehearsal.hpp"

#include <cmath>
#include <cstring>
#include <limits>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ckpt_run {
namespace {

using cairn::Bytes;
using cairn::ElementType;
using cairn::PlannedDeath;
using cairn::Rank;
using testing::HasSubstr;
using testing::Not;

TEST(DrawnDeaths, come_after_the_first_call_in_order_and_at_odd_distances) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const std::uint64_t calls = 2 + seed % 40;
    const auto deaths = draw_deaths(calls, 3, 4, seed);
    ASSERT_EQ(deaths.size(), std::min<std::uint64_t>(4, calls - 1));
    std::uint64_t restored = 0;
    for (const auto& [call, rank] : deaths) {
      EXPECT_GE(call, 2U);
      EXPECT_LE(call, calls);
      EXPECT_LT(rank.value, 3U);
      EXPECT_GE(call - 1, restored + (restored > 0 ? 1 : 0)) << "seed " << seed;
      if (calls >= 9) {
        EXPECT_EQ((call - 1 - restored) % 2, 1U) << "seed " << seed;
      }
      restored = call - 1;
    }
  }
}

TEST(DrawnDeaths, are_none_in_a_program_of_one_call) {
  EXPECT_TRUE(draw_deaths(1, 3, 4, 7).empty());
  EXPECT_TRUE(draw_deaths(0, 3, 4, 7).empty());
}

template <class T>
bool equal(ElementType type, T a, T b, double tolerance) {
  return are_equal(type, std::as_bytes(std::span(&a, 1)), std::as_bytes(std::span(&b, 1)), tolerance);
}

TEST(Elements, are_equal_bit_by_bit_or_within_a_relative_difference) {
  EXPECT_TRUE(equal(ElementType::float64, 1.5, 1.5, 0));
  EXPECT_FALSE(equal(ElementType::float64, 1e6, 1e6 + 1, 0));
  EXPECT_TRUE(equal(ElementType::float64, 1e6, 1e6 + 1, 1e-5));
  EXPECT_FALSE(equal(ElementType::float64, 1e6, 1e6 + 1, 1e-7));
  EXPECT_TRUE(equal(ElementType::float32, 3.0F, 3.0F + 3e-6F, 1e-5));
  EXPECT_FALSE(equal(ElementType::float64, 0.0, 1e-30, 1e-5));
  EXPECT_TRUE(equal(ElementType::float64, 0.0, -0.0, 1e-5));
  EXPECT_FALSE(equal(ElementType::float64, 0.0, -0.0, 0));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(equal(ElementType::float64, nan, nan, 1e-5));
  EXPECT_FALSE(equal(ElementType::float64, nan, 1.0, 1e-5));
  EXPECT_FALSE(equal(ElementType::int32, 1'000'000, 1'000'001, 1e-3)) << "whole numbers have no rounding";
  EXPECT_FALSE(equal(ElementType::opaque, 1.0, 1.0 + 1e-15, 1e-3));
}

RegionDifference some_values() {
  RegionDifference one;
  one.region = "u";
  one.rank = Rank{2};
  one.elements = 100;
  one.differing = 3;
  one.first = 17;
  one.expected = "0.25";
  one.found = "0.5";
  return one;
}

Rehearsed rehearsed(std::vector<RegionDifference> regions) {
  Rehearsed result;
  result.calls = result.calls_after = 9;
  result.deaths = {PlannedDeath{4, Rank{1}}, PlannedDeath{7, Rank{0}}};
  result.difference = {std::move(regions), 2, 808};
  return result;
}

TEST(RehearsalText, says_that_the_result_is_the_same) {
  const Rehearsed well = rehearsed({});
  EXPECT_TRUE(well.has_same_result());
  EXPECT_EQ(text_of(well, 0),
            "rehearsal: 9 calls of snapshot(); deaths: rank 1 before call 4, rank 0 before call 7\n"
            "the program has the same result after failures: 2 regions, 808 bytes, equal bit by bit");
  EXPECT_THAT(text_of(well, 1e-9), HasSubstr("equal within 1e-09"));
}

TEST(RehearsalText, names_the_first_element_that_differs_and_the_causes) {
  Rehearsed result = rehearsed({some_values()});
  result.repeated = RunDifference{};
  EXPECT_FALSE(result.has_same_result());
  const std::string text = text_of(result, 0);
  EXPECT_THAT(text,
              HasSubstr("region u of rank 2 differs in 3 of 100 elements: element 17 is 0.5 after the failures, and "
                        "0.25 undisturbed\n1 of 2 regions differ: u\n"));
  EXPECT_THAT(text, HasSubstr("is not protected"));
  EXPECT_THAT(text, Not(HasSubstr("members of a struct")));
  EXPECT_TRUE(text.ends_with("the program has another result after failures"));
}

TEST(RehearsalText, says_nothing_of_failures_where_undisturbed_runs_differ) {
  Rehearsed result = rehearsed({some_values()});
  result.repeated = RunDifference{{some_values()}, 2, 808};
  const std::string text = text_of(result, 0);
  EXPECT_THAT(text, HasSubstr("two undisturbed runs differ, too"));
  EXPECT_THAT(text, Not(HasSubstr("has another result")));
}

TEST(RehearsalText, names_what_has_no_counterpart) {
  RegionDifference missing = some_values(), added = some_values(), shape = some_values();
  missing.kind = RegionDifference::Kind::missing;
  added.kind = RegionDifference::Kind::added;
  shape.kind = RegionDifference::Kind::shape;
  shape.expected = "float64[100]";
  shape.found = "float64[50]";
  EXPECT_THAT(text_of(rehearsed({missing}), 0), HasSubstr("region u of rank 2 is missing after the failures\n"));
  EXPECT_THAT(text_of(rehearsed({added}), 0), HasSubstr("region u of rank 2 is there after the failures only\n"));
  EXPECT_THAT(text_of(rehearsed({shape}), 0),
              HasSubstr("region u of rank 2 is float64[50] after the failures, and float64[100] undisturbed\n"));
  EXPECT_THAT(text_of(rehearsed({shape}), 0), HasSubstr("protect() is called after restore()"));
}

TEST(RehearsalText, says_what_was_not_rehearsed) {
  Rehearsed result = rehearsed({});
  result.not_died = {PlannedDeath{7, Rank{0}}};
  result.calls_after = 6;
  EXPECT_FALSE(result.has_same_result());
  const std::string text = text_of(result, 0);
  EXPECT_THAT(text, HasSubstr("not rehearsed, since no rank came to these calls: rank 0 before call 7\n"));
  EXPECT_THAT(text, HasSubstr("the run with failures has made 6 calls of snapshot(): both must make the same\n"));
  EXPECT_THAT(text, Not(HasSubstr("has the same result")));
}

std::vector<std::string> runs_of(std::vector<const char*> words) {
  words.insert(words.begin(), "ckpt-run");
  return without_rehearsal(static_cast<int>(words.size()), words.data());
}

TEST(RehearsalOptions, are_not_passed_on_and_those_of_the_application_are) {
  EXPECT_THAT(runs_of({"-n", "4", "--rehearse", "--kills", "2", "--calls", "5", "--seed=7", "--tolerance", "0.1",
                       "--config", "a.ini", "--", "./sim", "--kills", "3", "--rehearse"}),
              testing::ElementsAre("-n", "4", "--config", "a.ini", "--", "./sim", "--kills", "3", "--rehearse"));
}

}  // namespace
}  // namespace ckpt_run
