// The judge is judged: what it must allow, since ranks tell late of what others have gone on from, and what it must
// still refuse then.
#include <gtest/gtest.h>

#include "torture/model.hpp"

namespace cairn::torture {
namespace {

constexpr std::uint32_t kLocal = 1;
constexpr std::uint32_t kPartner = 2;

// The same two hosts in each life, which keep so many versions.
Circumstances life(std::uint32_t keep) {
  Circumstances life;
  life.hosts = {0, 1};
  life.keep_local = keep;
  return life;
}

void take(Model& model, std::uint32_t version) {
  const std::uint64_t stamp = version;
  model.tries(stamp);
  model.takes(version, stamp);
}

// What the model says of a next life that starts fresh.
std::string judge_fresh(Model& model) {
  model.begin_life(life(1));
  return model.judge({Restored{}}, "");
}

// What it says of one that goes on from this version, of the state of this stamp.
std::string judge_return(Model& model, std::uint32_t version, std::uint64_t stamp) {
  model.begin_life(life(1));
  return model.judge({Restored{false, version, stamp}}, "");
}

TEST(Model, allows_that_a_version_went_for_one_that_a_store_lost_before_a_rank_told_of_the_first) {
  Model model;
  model.begin_life(life(1));
  take(model, 4);
  model.is_safe(kLocal, 4);
  take(model, 5);
  model.version_is_hurt(0, 5);
  model.is_safe(kLocal, 4);  // by a rank that is behind
  EXPECT_EQ(model.promised(), 0U);
}

TEST(Model, allows_that_a_version_went_for_a_lost_one_when_no_rank_had_told_of_the_first) {
  Model model;
  model.begin_life(life(1));
  take(model, 4);
  take(model, 5);
  model.version_is_hurt(0, 5);
  model.is_safe(kLocal, 4);
  EXPECT_EQ(model.promised(), 0U);
}

TEST(Model, wants_a_version_that_survives_the_loss_whoever_tells_of_it) {
  Model model;
  model.begin_life(life(1));
  take(model, 4);
  take(model, 5);
  model.version_is_hurt(0, 5);
  model.is_safe(kPartner, 4);  // one host's loss
  EXPECT_EQ(model.promised(), 4U);
  EXPECT_NE(judge_fresh(model), "");
}

TEST(Model, wants_a_version_that_cannot_have_gone_for_the_lost_one) {
  Model model;
  model.begin_life(life(2));
  take(model, 4);
  take(model, 5);
  model.version_is_hurt(0, 5);
  model.is_safe(kLocal, 4);
  EXPECT_EQ(model.promised(), 4U);
  take(model, 6);  // the only one that counts beside it
  model.version_is_hurt(0, 6);
  EXPECT_EQ(model.promised(), 4U);
}

TEST(Model, wants_a_version_that_was_taken_when_the_store_had_lost_another_one) {
  Model model;
  model.begin_life(life(1));
  take(model, 4);
  model.version_is_hurt(0, 4);
  take(model, 5);
  model.is_safe(kLocal, 5);
  EXPECT_EQ(model.promised(), 5U);
}

// Its number is given again, by a life that went on without it.
TEST(Model, allows_an_older_state_of_a_number_whose_newer_one_was_lost_before_a_rank_told_of_it) {
  Model model;
  model.begin_life(life(1));
  take(model, 4);
  model.is_safe(kLocal, 4);
  model.begin_life(life(1));
  model.tries(40);
  model.version_is_hurt(0, 4);
  model.takes(4, 40);
  model.is_safe(kLocal, 4);
  EXPECT_EQ(judge_return(model, 4, 4), "");
}

TEST(Model, refuses_an_older_state_of_a_number_whose_newer_one_is_whole) {
  Model model;
  model.begin_life(life(1));
  take(model, 4);
  model.is_safe(kLocal, 4);
  model.begin_life(life(1));
  model.tries(40);
  model.takes(4, 40);
  model.is_safe(kLocal, 4);
  EXPECT_NE(judge_return(model, 4, 4), "");
}

TEST(Model, wants_what_was_safe_after_a_finalize_whose_end_is_not_recorded) {
  Model model;
  model.begin_life(life(1));
  take(model, 4);
  model.is_safe(kLocal, 4);
  model.ends_badly();
  EXPECT_NE(judge_fresh(model), "");
}

TEST(Model, allows_that_what_a_finalize_without_a_recorded_end_has_left_is_in_the_global_store_alone) {
  Model model;
  model.begin_life(life(2));
  take(model, 4);
  model.is_safe(kLocal, 4);
  take(model, 5);
  model.ends_badly();
  EXPECT_EQ(model.promised(), 4U);
  model.version_is_hurt({}, 5);  // which may be all that there is
  EXPECT_EQ(model.promised(), 0U);
}

TEST(Model, allows_a_fresh_start_after_a_finalize_whose_end_is_recorded) {
  Model model;
  model.begin_life(life(1));
  take(model, 4);
  model.is_safe(kLocal, 4);
  model.finished(false);
  EXPECT_EQ(judge_fresh(model), "");
}

// A life of other ranks, which keeps nothing on other hosts.
Circumstances without_copies() {
  Circumstances other = life(1);
  other.hosts = {0, 1, 2};
  other.copies = 0;
  return other;
}

TEST(Model, wants_a_version_of_other_ranks_wherever_it_was_until_another_is_tried) {
  Model model;
  model.begin_life(life(1));
  take(model, 4);
  model.is_safe(kPartner, 4);
  model.begin_life(without_copies());
  EXPECT_EQ(model.judge({Restored{false, 4, 4, true}}, ""), "");
  EXPECT_TRUE(model.keeps_the_old());
  model.host_is_hurt(1);
  model.begin_life(life(1));
  EXPECT_EQ(model.promised(), 4U) << "its copies survive the loss of a host";
  EXPECT_NE(model.judge({Restored{}}, ""), "");
}

TEST(Model, wants_of_a_version_of_other_ranks_no_more_than_the_next_survives_once_that_is_tried) {
  Model model;
  model.begin_life(life(1));
  take(model, 4);
  model.is_safe(kPartner, 4);
  model.begin_life(without_copies());
  EXPECT_EQ(model.judge({Restored{false, 4, 4, true}}, ""), "");
  take(model, 5);
  EXPECT_FALSE(model.keeps_the_old());
  EXPECT_TRUE(model.may_keep_the_old());
  EXPECT_EQ(model.promised(), 4U);
  model.is_safe(kLocal, 5);
  EXPECT_FALSE(model.may_keep_the_old());
  model.host_is_hurt(2);
  model.begin_life(life(1));
  EXPECT_EQ(model.promised(), 0U);
}

}  // namespace
}  // namespace cairn::torture
