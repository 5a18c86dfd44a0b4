#include "text.hpp"

#include <gtest/gtest.h>

namespace ckpt_tool {
namespace {

TEST(CkptToolText, writes_ranks_as_ranges) {
  EXPECT_EQ(ranks_text({}), "");
  EXPECT_EQ(ranks_text({{3}}), "rank 3");
  EXPECT_EQ(ranks_text({{9}, {0}, {1}, {2}, {1}}), "ranks 0-2, 9");
}

TEST(CkptToolText, writes_sizes_and_ages_with_the_unit_that_fits) {
  EXPECT_EQ(size_text(1023), "1023 B");
  EXPECT_EQ(size_text(1536), "1.5 KiB");
  EXPECT_EQ(size_text(std::uint64_t{5} << 40U), "5.0 TiB");
  EXPECT_EQ(age_text(42), "42 s");
  EXPECT_EQ(age_text(3 * 3600), "3 h");
}

TEST(CkptToolText, writes_durations_with_the_unit_that_fits) {
  EXPECT_EQ(duration_text(90), "90 s");
  EXPECT_EQ(duration_text(0.0205), "20.5 ms");
  EXPECT_EQ(duration_text(3.14e-6), "3.14 us");
}

TEST(CkptToolText, folds_paths_that_differ_in_numbers_only) {
  const auto folded = fold_paths({"/a2/node0001/x", "/b/node0001/x", "/a2/node0002/x", "/a2/node0003/y10", "/a3"});
  ASSERT_EQ(folded.size(), 4U);
  EXPECT_EQ(folded[0].pattern, "/a2/node*/x");
  EXPECT_EQ(folded[0].members, (std::vector<std::size_t>{0, 2}));
  EXPECT_EQ(folded[1].pattern, "/b/node0001/x");
  EXPECT_EQ(folded[2].pattern, "/a2/node0003/y10");
  EXPECT_EQ(folded[3].pattern, "/a3");
  EXPECT_TRUE(fold_paths({}).empty());
}

TEST(CkptToolText, aligns_columns) {
  EXPECT_EQ(table_text({{"a", "b"}, {"long", ""}, {"x", "y"}}), "a     b\nlong\nx     y\n");
}

}  // namespace
}  // namespace ckpt_tool
