#include "recover/branch.hpp"

#include <string>

#include <gtest/gtest.h>

namespace cairn {
namespace {

Identity snapshot(std::uint32_t life, std::uint32_t version) { return {{life}, {version}, {life}}; }

// Which of the versions 1 to 9 of three lives, taken one after the other, the branch has.
std::string versions_of(const Branch& branch) {
  std::string versions;
  for (std::uint32_t version = 1; version <= 9; ++version) {
    if (branch.has(snapshot(1 + (version - 1) / 3, version))) versions += std::to_string(version);
  }
  return versions;
}

TEST(Branch, has_everything_until_somebody_chooses) { EXPECT_EQ(versions_of({}), "123456789"); }

TEST(Branch, abandons_what_lies_between_the_chosen_snapshot_and_the_choice) {
  Branch branch;
  branch.take({{2}, {snapshot(1, 2), {3}}});
  EXPECT_EQ(versions_of(branch), "12456789");
  branch.take({{3}, {snapshot(2, 5), {6}}});
  EXPECT_EQ(versions_of(branch), "1245789");
}

TEST(Branch, forgets_choices_that_were_made_after_the_chosen_snapshot) {
  Branch branch;
  branch.take({{2}, {snapshot(1, 1), {3}}});
  branch.take({{3}, {snapshot(1, 3), {6}}});
  EXPECT_EQ(versions_of(branch), "123789");
  EXPECT_EQ(branch.forks().size(), 1U);
}

TEST(Branch, may_fork_within_a_life) {
  Branch branch;
  branch.take({{2}, {snapshot(2, 4), {5}}});
  EXPECT_EQ(versions_of(branch), "12346789");
}

TEST(Branch, has_no_rejected_snapshot_until_somebody_chooses_it) {
  Branch branch;
  branch.reject(snapshot(2, 5));
  branch.reject(snapshot(1, 3));
  EXPECT_EQ(versions_of(branch), "1246789");
  EXPECT_TRUE(branch.has_rejected(snapshot(2, 5)));
  branch.take({{2}, {snapshot(2, 4), {6}}});
  EXPECT_EQ(versions_of(branch), "124789");
  EXPECT_FALSE(branch.has_rejected(snapshot(2, 5))) << "it was abandoned, too";
  branch.take({{3}, {snapshot(2, 5), {6}}});
  EXPECT_EQ(versions_of(branch), "1245789");
}

// The store was away when the numbers were used again.
TEST(Branch, does_not_take_an_old_snapshot_with_a_high_number_for_one_of_its_own) {
  Branch branch;
  branch.take({{2}, {snapshot(1, 2), {3}}});
  EXPECT_FALSE(branch.has(snapshot(1, 9)));
  EXPECT_TRUE(branch.has(snapshot(2, 4)));
}

}  // namespace
}  // namespace cairn
