// What a job has left, and may come back to.
#include <gtest/gtest.h>

#include "torture/branches.hpp"

namespace cairn::torture {
namespace {

// Five snapshots, versions and stamps alike, of which the second is chosen.
Branches with_the_second_chosen(bool at_start = false) {
  Branches branches;
  branches.chooses({2, at_start}, 2, 5);
  branches.has_chosen(2);
  return branches;
}

TEST(Branches, leave_what_is_newer_than_a_choice_and_not_what_comes_after_it) {
  const Branches branches = with_the_second_chosen();
  EXPECT_FALSE(branches.has_left(2));
  EXPECT_TRUE(branches.has_left(3));
  EXPECT_TRUE(branches.has_left(5));
  EXPECT_FALSE(branches.has_left(6));
}

TEST(Branches, come_back_to_what_a_choice_of_the_other_branch_was_taken_after) {
  Branches branches = with_the_second_chosen();
  branches.chooses({5, false}, 5, 7);
  branches.has_chosen(5);
  EXPECT_FALSE(branches.has_left(3));
  EXPECT_TRUE(branches.has_left(6));
}

TEST(Branches, do_not_know_of_a_choice_that_was_under_way_at_the_end_of_a_life) {
  Branches branches = with_the_second_chosen();
  branches.chooses({5, false}, 5, 7);
  EXPECT_TRUE(branches.may_have_left(6));
  branches.begin_life();
  EXPECT_FALSE(branches.has_left(6));
  EXPECT_FALSE(branches.has_left(3));
}

TEST(Branches, do_not_give_a_rejected_state_again_until_it_is_chosen) {
  Branches branches;
  branches.rejects(4);
  EXPECT_TRUE(branches.may_have_left(4));
  EXPECT_FALSE(branches.has_left(4));
  branches.has_rejected(4);
  branches.begin_life();
  EXPECT_TRUE(branches.has_left(4));
  branches.chooses({4, false}, 4, 5);
  branches.has_chosen(4);
  EXPECT_FALSE(branches.has_left(4));
}

TEST(Branches, know_the_last_choice_at_a_start_and_doubt_it_after_the_end_of_the_chain) {
  Branches branches = with_the_second_chosen(true);
  EXPECT_TRUE(branches.is_last(2));
  EXPECT_FALSE(branches.may_be_last(3));
  EXPECT_FALSE(with_the_second_chosen(false).may_be_last(2));
  branches.end();
  EXPECT_FALSE(branches.is_last(2));
  EXPECT_TRUE(branches.may_be_last(2));
}

TEST(Branches, promise_the_newest_pinned_version_only_once_it_is_at_the_global_level) {
  Branches branches;
  branches.pins(3);
  EXPECT_FALSE(branches.newest_is_pinned());
  branches.is_safe(7, 3);
  EXPECT_TRUE(branches.newest_is_pinned());
  EXPECT_EQ(branches.newest_pinned(), 7U);
  branches.pins(4);
  EXPECT_FALSE(branches.newest_is_pinned());
}

}  // namespace
}  // namespace cairn::torture
