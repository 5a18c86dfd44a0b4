// The sentences about what is wrong with a restart on another number of ranks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reshape/finding.hpp"

namespace cairn::reshape {
namespace {

using testing::HasSubstr;

TEST(FindingText, names_region_ranks_and_range) {
  const Error error =
      error_of({.cause = Cause::parts_overlap, .region = "plate", .ranks = {3, 5}, .range = {{0, 7}, {4, 1}}});
  EXPECT_EQ(error.code, Code::mismatch);
  EXPECT_EQ(error.message, "region \"plate\": ranks 3 and 5 both request [0..3][7]");
  EXPECT_EQ(error_of({.cause = Cause::not_stored, .region = "x", .ranks = {1, 2}}).message,
            "region \"x\": it is not in the snapshot of old ranks 1, 2");
  EXPECT_EQ(
      error_of({.cause = Cause::kinds_differ, .region = "x", .ranks = {0, 4}, .numbers = {2, 3}, .texts = {"y", ""}})
          .message,
      "region \"x\": rank 0 says that it is a sequence like \"y\", rank 4 that it is the same on all ranks");
}

TEST(FindingText, lists_what_to_write_for_regions_of_which_nothing_was_said) {
  const std::string text = error_of({.cause = Cause::unsaid,
                                     .numbers = {0, Hint::equal_everywhere, Hint::has_place | Hint::equal_everywhere},
                                     .texts = {"a", "b", "c"}})
                               .text();
  EXPECT_THAT(text, HasSubstr("\"a\", \"b\", \"c\""));
  EXPECT_THAT(text, HasSubstr("a kind: same, sequence, like or of rank"));
  EXPECT_THAT(text, HasSubstr("\"b\": equal on all old ranks, perhaps same"));
  EXPECT_THAT(text, HasSubstr("\"c\": the snapshot has a place"));
}

TEST(FindingText, mentions_padding_where_values_of_an_opaque_type_differ) {
  const auto text = [](const std::string& type) {
    return error_of({.cause = Cause::values_differ, .region = "x", .ranks = {0, 2}, .texts = {type}}).text();
  };
  EXPECT_THAT(text("Particle"), HasSubstr("padding"));
  EXPECT_THAT(text(""), testing::Not(HasSubstr("padding")));
}

TEST(FindingText, of_a_region_that_cannot_be_read_is_that_of_its_reader) {
  const Error error = error_of({.cause = Cause::unreadable,
                                .region = "x",
                                .ranks = {7},
                                .numbers = {static_cast<std::uint64_t>(Code::corrupt)},
                                .texts = {"block 3 is damaged", "restore from L2", "rank000007.shard"}});
  EXPECT_EQ(error.code, Code::corrupt);
  EXPECT_EQ(error.message, "region \"x\" of old rank 7: block 3 is damaged");
  EXPECT_EQ(error.hint, "restore from L2");
  EXPECT_EQ(error.file, "rank000007.shard");
}

// A finding may come from another rank, with fewer facts than a sentence has places.
TEST(FindingText, is_there_for_every_cause_and_reads_no_fact_that_is_missing) {
  for (std::uint8_t cause = 0; cause < kCauses; ++cause)
    EXPECT_FALSE(error_of({.cause = static_cast<Cause>(cause)}).message.empty()) << static_cast<int>(cause);
}

}  // namespace
}  // namespace cairn::reshape
