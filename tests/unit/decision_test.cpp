// What follows from the votes of a meeting.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "repair/decision.hpp"

namespace cairn {
namespace {

using Role = Member::Role;
using Weight = rollback::Obstacle::Weight;

// Two nodes of two ranks and a head, and a spare: by number 0 1 H | 2 3 H | s.
PoolState state_of_a_job() {
  PoolState state;
  for (const char* const node : {"a", "b", "c"}) state.nodes.push_back({"host", node, false});
  const auto everyone = make_topology(std::vector<std::string>(7, "host"), {3, 3, 1}, HeadMode::inline_);
  state.roster = first_roster(*everyone, HeadMode::rank, 1).value();
  return state;
}

// Of all processes but the dead.
std::vector<Presence> votes(std::vector<std::uint32_t> dead, const PoolVote& vote = {.rollback = {.can_stay = true}}) {
  std::vector<Presence> present;
  for (std::uint32_t i = 0; i < 7; ++i) {
    if (std::ranges::find(dead, i) == dead.end())
      present.push_back(presence_of(vote, i, {static_cast<std::int32_t>(i), 0}));
  }
  return present;
}

TEST(Decision, gives_the_seat_of_a_dead_rank_to_a_spare_and_counts_the_repair) {
  const PoolState before = state_of_a_job();
  const Decision decision = decide(before, HeadMode::rank, votes({1}));
  EXPECT_EQ(decision.live, (std::vector<std::uint32_t>{0, 2, 3, 4, 5, 6}));
  const PoolState now = after(before, decision);
  EXPECT_EQ(now.repairs, 1U);
  EXPECT_EQ(now.repairs_without_effect, 0U);
  EXPECT_EQ(now.roster.size(), 6U);
  EXPECT_EQ(now.roster.back().role, Role::rank);
  EXPECT_EQ(now.roster.back().rank, Rank{1});
  const PoolVerdict verdict = verdict_of(before, HeadMode::rank, decision, 0);
  EXPECT_TRUE(verdict.only_lost_roll_back);
  EXPECT_EQ(verdict.failures.dead_ranks, std::vector<std::uint32_t>{1});
  EXPECT_TRUE(verdict.failures.lost_nodes.empty());
}

TEST(Decision, names_nodes_without_survivors_as_lost) {
  const Decision decision = decide(state_of_a_job(), HeadMode::rank, votes({3, 4, 5}));
  const auto failures = verdict_of(state_of_a_job(), HeadMode::rank, decision, 0).failures;
  EXPECT_EQ(failures.dead_ranks, (std::vector<std::uint32_t>{2, 3}));
  EXPECT_EQ(failures.lost_nodes, std::vector<std::uint32_t>{1});
  EXPECT_FALSE(decision.repair.unfilled.empty());
}

TEST(Decision, is_that_all_roll_back_if_one_application_rank_cannot_stay) {
  auto present = votes({1});
  present[0].can_stay = 0;
  EXPECT_EQ(decide(state_of_a_job(), HeadMode::rank, present).cannot_stay, std::vector<std::uint32_t>{0});
  EXPECT_FALSE(decide(state_of_a_job(), HeadMode::rank, present).all_stay);
  // Heads and spares have nothing to stay in.
  present[0].can_stay = 1;
  present[1].can_stay = present.back().can_stay = 0;
  EXPECT_TRUE(decide(state_of_a_job(), HeadMode::rank, present).all_stay);
}

TEST(Decision, lets_the_first_process_that_knows_the_reason_give_it) {
  auto present = votes({1});
  for (Presence& one : present) one.can_stay = 0;
  const auto gives_reason = [&](std::uint32_t me) {
    const Decision decision = decide(state_of_a_job(), HeadMode::rank, present);
    return verdict_of(state_of_a_job(), HeadMode::rank, decision, me).gives_reason;
  };
  for (std::uint32_t me = 0; me < 7; ++me) EXPECT_FALSE(gives_reason(me));
  present[0].reason = Weight::seen;
  EXPECT_TRUE(gives_reason(0));
  present[2].reason = present[3].reason = Weight::known;  // numbers 3 and 4
  for (std::uint32_t me = 0; me < 7; ++me) EXPECT_EQ(gives_reason(me), me == 3) << me;
}

TEST(Decision, is_that_all_roll_back_once_two_replacements_have_died_before_they_caught_up) {
  PoolState state = state_of_a_job();
  state.roster[1].catch_ups = 2;
  Decision decision = decide(state, HeadMode::rank, votes({1}));
  EXPECT_EQ(decision.lost_in_catch_ups, Rank{1});
  EXPECT_FALSE(decision.all_stay);
  for (const Member& member : decision.repair.roster) EXPECT_EQ(member.catch_ups, 0U);
  // A process knows that they have caught up since.
  auto present = votes({1});
  present[3].have_caught_up = 1;
  decision = decide(state, HeadMode::rank, present);
  EXPECT_FALSE(decision.lost_in_catch_ups);
  EXPECT_TRUE(decision.all_stay);
}

TEST(Decision, counts_repairs_that_find_no_dead_process_and_those_without_a_newer_snapshot) {
  PoolState state = state_of_a_job();
  const auto repair_with = [&](std::uint32_t restored) {
    state = after(state, decide(state, HeadMode::rank, votes({}, {.restored = restored})));
  };
  repair_with(0);
  repair_with(0);
  EXPECT_EQ(state.repairs_without_effect, 2U);
  EXPECT_EQ(state.repairs_without_progress, 2U);
  repair_with(7);
  EXPECT_EQ(state.repairs_without_progress, 0U);
  EXPECT_EQ(state.progress, 7U);
  repair_with(6);
  EXPECT_EQ(state.repairs_without_progress, 1U);
  EXPECT_EQ(state.progress, 7U);
}

TEST(Decision, keeps_that_the_application_was_under_way_and_that_a_process_gives_up) {
  PoolState state = state_of_a_job();
  auto present = votes({});
  present[4].under_way = present[5].gives_up = 1;
  state = after(state, decide(state, HeadMode::rank, present));
  state = after(state, decide(state, HeadMode::rank, votes({})));
  EXPECT_TRUE(state.under_way);
  EXPECT_TRUE(state.gives_up);
}

TEST(PoolState, is_the_same_in_new_processes) {
  PoolState state = state_of_a_job();
  state.repairs = 3;
  state.progress = 8;
  state.repairs_without_progress = 2;
  state.closed_hosts = {"one", "two"};
  state.mark = "CAIRNPOOL=host-1-2";
  state.strays = state.under_way = true;
  state.roster[3].catch_ups = 1;
  state.roster[6].start = 2;
  ByteWriter out;
  encode(state, out);
  ByteReader in(out.bytes());
  const auto read = decode_pool_state(in);
  ASSERT_TRUE(read);
  EXPECT_EQ(in.remaining(), 0U);
  EXPECT_EQ(read->roster, state.roster);
  EXPECT_EQ(read->closed_hosts, state.closed_hosts);
  ByteWriter again;
  encode(*read, again);
  EXPECT_EQ(again.bytes(), out.bytes());
}

TEST(PoolState, that_is_cut_off_is_refused) {
  ByteWriter out;
  encode(state_of_a_job(), out);
  for (std::size_t size = 0; size < out.size(); ++size) {
    ByteReader in(Bytes(out.bytes()).first(size));
    EXPECT_FALSE(decode_pool_state(in)) << size;
  }
}

}  // namespace
}  // namespace cairn
