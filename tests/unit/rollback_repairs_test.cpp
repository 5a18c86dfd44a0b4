// A process's part in repairs, with a host that answers as the test wants.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "logged/journaled_rank.hpp"
#include "rollback/repairs.hpp"

namespace cairn::rollback {
namespace {

using testing::ElementsAre;

constexpr std::array kPhases{Phase::computing, Phase::struck, Phase::voted, Phase::met, Phase::joined};

TEST(RepairPhase, application_rank_meets_others_only_after_a_vote) {
  for (const Phase before : kPhases) EXPECT_EQ(may_follow(before, Phase::met, true), before == Phase::voted);
}

TEST(RepairPhase, head_or_spare_has_no_vote) {
  for (const Phase before : kPhases) EXPECT_TRUE(may_follow(before, Phase::met, false));
}

TEST(RepairPhase, only_a_meeting_leads_into_the_next_world) {
  for (const Phase before : kPhases) EXPECT_EQ(may_follow(before, Phase::joined, true), before == Phase::met);
}

TEST(RepairPhase, rank_that_catches_up_has_messages_to_compare) {
  for (const Phase phase : kPhases) {
    EXPECT_FALSE(can_be(phase, {Origin::first, true, false}));
    EXPECT_TRUE(can_be(phase, {Origin::first, true, true}));
  }
}

TEST(RepairPhase, replacement_neither_computes_nor_meets_others_with_its_session) {
  for (const Phase phase : kPhases)
    EXPECT_EQ(can_be(phase, {Origin::replacement, false, false}), phase != Phase::computing && phase != Phase::met);
}

// Notes what it is asked for.
class NotingHost : public Host {
 public:
  std::vector<bool> votes;  // what others have voted for, one after the other; then they vote well
  bool only_lost = true;
  bool is_rank = true;
  bool is_still = true;
  Status joined;
  std::vector<std::string> events;
  std::vector<Vote> told;
  LoggedRank* logged = nullptr;

  [[nodiscard]] std::vector<std::string> take_events() { return std::exchange(events, {}); }

  [[nodiscard]] bool computes() const override { return is_rank; }
  void alarm() override { alarmed_ = true; }
  [[nodiscard]] bool is_alarmed() override { return alarmed_; }
  [[nodiscard]] bool vote(bool ok, const std::function<void()>& /*meanwhile*/) override {
    events.emplace_back(ok ? "vote well" : "vote badly");
    const bool others = votes.empty() || votes.front();
    if (!votes.empty()) votes.erase(votes.begin());
    return ok && others;
  }
  [[nodiscard]] bool meet(const Vote& vote) override {
    events.emplace_back("meet");
    told.push_back(vote);
    alarmed_ = false;
    return only_lost;
  }
  void tell_of_failure() override { events.emplace_back("tell"); }
  [[nodiscard]] LoggedRank* rank() override { return logged; }
  void look_for_obstacles() override {}
  void passes_restore() override {}
  void passes_safe_point() override {}
  [[nodiscard]] bool leave_world() override {
    events.emplace_back("leave world");
    return is_still;
  }
  [[nodiscard]] Status join_world() override {
    events.emplace_back("join world");
    return joined;
  }
  [[nodiscard]] Status adopt() override { return {}; }
  [[nodiscard]] Status settle_offer() override { return {}; }
  void go_on() override { events.emplace_back("go on"); }
  [[nodiscard]] Status check_messages() override { return {}; }
  [[nodiscard]] Helpers* helpers() override { return nullptr; }

 private:
  bool alarmed_ = false;
};

class RepairsTest : public testing::Test {
 protected:
  // The rank has restored alone in a world of its own.
  void SetUp() override {
    host_.logged = &rank_;
    repairs_.opens();
    ASSERT_TRUE(rank_.journal().start(0));
  }

  NotingHost host_;
  Repairs repairs_{host_};
  JournaledRank rank_{{.rank = Rank{0}, .replay = {}, .limit = std::chrono::seconds(1), .log = Log::silent()},
                      repairs_};
};

TEST_F(RepairsTest, rank_with_an_obstacle_leaves_its_call_and_tells_why_at_the_meeting) {
  rank_.obstruct("calls wait()", Until::end);
  EXPECT_FALSE(repairs_.stays());
  EXPECT_THAT(host_.take_events(), ElementsAre("tell"));
  EXPECT_EQ(repairs_.phase(), Phase::struck);
  repairs_.leaves();
  repairs_.rolls_back();
  EXPECT_THAT(host_.take_events(), ElementsAre("vote badly", "meet"));
  ASSERT_EQ(host_.told.size(), 1U);
  EXPECT_FALSE(host_.told.front().can_stay);
  EXPECT_EQ(host_.told.front().obstacle.text, "rank 0 calls wait()");
  EXPECT_EQ(host_.told.front().obstacle.weight, Obstacle::Weight::known);
}

TEST_F(RepairsTest, rank_that_has_met_the_others_in_its_call_does_not_meet_them_again) {
  host_.only_lost = false;
  EXPECT_FALSE(repairs_.stays());
  EXPECT_THAT(host_.take_events(), ElementsAre("leave world", "vote badly", "meet", "tell"));
  EXPECT_FALSE(repairs_.stays());
  EXPECT_FALSE(repairs_.all_finished());
  repairs_.leaves();
  repairs_.rolls_back();
  EXPECT_THAT(host_.take_events(), ElementsAre("tell"));
  EXPECT_TRUE(host_.told.front().can_stay);
}

TEST_F(RepairsTest, rank_whose_messages_have_not_ended_cannot_stay) {
  host_.is_still = false;
  host_.only_lost = false;
  EXPECT_FALSE(repairs_.stays());
  EXPECT_FALSE(host_.told.front().can_stay);
  EXPECT_EQ(host_.told.front().obstacle.text, "MPI has not ended the messages that were under way");
}

TEST_F(RepairsTest, rank_that_cannot_join_the_repaired_world_votes_so_and_raises_the_alarm) {
  host_.joined = fail(Code::communication, "gone");
  EXPECT_FALSE(repairs_.stays());
  EXPECT_THAT(host_.take_events(),
              ElementsAre("leave world", "vote badly", "meet", "join world", "vote badly", "tell"));
  EXPECT_TRUE(host_.is_alarmed());
  EXPECT_EQ(repairs_.phase(), Phase::voted);
  repairs_.leaves();
  repairs_.rolls_back();
  EXPECT_THAT(host_.take_events(), ElementsAre("meet"));
  EXPECT_EQ(host_.told.back().obstacle.weight, Obstacle::Weight::seen);
}

TEST_F(RepairsTest, finished_rank_waits_for_all_others) {
  EXPECT_TRUE(repairs_.all_finished());
  EXPECT_EQ(repairs_.phase(), Phase::computing);
  host_.votes = {false};
  host_.only_lost = false;
  EXPECT_FALSE(repairs_.all_finished());
  EXPECT_THAT(host_.take_events(), ElementsAre("vote well", "vote well", "leave world", "meet"));
}

TEST_F(RepairsTest, replacement_that_finishes_without_restore_makes_all_roll_back) {
  host_.logged = nullptr;
  repairs_.leaves();
  repairs_.rolls_back();
  repairs_.opens();
  JournaledRank replacement({.rank = Rank{3}, .replay = {}, .limit = std::chrono::seconds(1), .log = Log::silent()},
                            repairs_);
  host_.logged = &replacement;
  EXPECT_EQ(repairs_.phase(), Phase::joined);
  EXPECT_TRUE(replacement.replaces());
  EXPECT_FALSE(repairs_.all_finished());
  EXPECT_TRUE(host_.is_alarmed());
  host_.logged = nullptr;
  repairs_.rolls_back();
  EXPECT_EQ(host_.told.back().obstacle.text, "rank 3 has finished after a failure without restore()");
}

TEST_F(RepairsTest, head_meets_the_others_without_a_vote) {
  host_.logged = nullptr;
  host_.is_rank = false;
  repairs_.meet();
  EXPECT_THAT(host_.take_events(), ElementsAre("meet"));
}

}  // namespace
}  // namespace cairn::rollback
