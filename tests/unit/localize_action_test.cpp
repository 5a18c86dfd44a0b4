// What follows from verdicts.
#include <chrono>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "localize/action.hpp"

namespace cairn::localize {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::Optional;

Verdict verdict(Fault fault, std::uint32_t node, bool withdrawn = false) {
  Verdict made;
  made.fault = fault;
  made.suspect.node = NodeId{node};
  made.withdrawn = withdrawn;
  return made;
}

TEST(CallsForSnapshot, only_if_the_node_is_in_danger_and_can_still_take_part) {
  EXPECT_TRUE(calls_for_snapshot(verdict(Fault::store_failing, 1)));
  EXPECT_TRUE(calls_for_snapshot(verdict(Fault::node_swapping, 1)));
  EXPECT_TRUE(calls_for_snapshot(verdict(Fault::undetermined, 1)));
  EXPECT_FALSE(calls_for_snapshot(verdict(Fault::node_down, 1)));
  EXPECT_FALSE(calls_for_snapshot(verdict(Fault::process_dead, 1)));
  EXPECT_FALSE(calls_for_snapshot(verdict(Fault::rank_slow, 1)));
}

TEST(CallsForSnapshot, not_if_the_node_is_merely_busy) {
  EXPECT_FALSE(calls_for_snapshot(verdict(Fault::node_stolen, 1)));
  Verdict busy = verdict(Fault::undetermined, 1);
  for (const SymptomKind kind : {SymptomKind::processor_stolen, SymptomKind::waited_for, SymptomKind::slow_rank}) {
    busy.evidence.emplace_back().kind = kind;
    EXPECT_FALSE(calls_for_snapshot(busy));
  }
  busy.evidence.emplace_back().kind = SymptomKind::store_error;
  EXPECT_TRUE(calls_for_snapshot(busy));
}

TEST(CallsForSnapshot, not_if_the_application_suspects_the_data_of_a_rank) {
  Verdict suspected = verdict(Fault::undetermined, 1);
  suspected.suspect.rank = Rank{3};
  EXPECT_FALSE(calls_for_snapshot(suspected));
}

TEST(EndangersNode, if_what_it_keeps_may_be_lost) {
  EXPECT_TRUE(endangers_node(verdict(Fault::node_down, 1)));
  EXPECT_TRUE(endangers_node(verdict(Fault::store_full, 1)));
  EXPECT_TRUE(endangers_node(verdict(Fault::undetermined, 1)));
  EXPECT_FALSE(endangers_node(verdict(Fault::path_corrupts, 1)));
  EXPECT_FALSE(endangers_node(verdict(Fault::node_stolen, 1)));
  EXPECT_FALSE(endangers_node(verdict(Fault::process_dead, 1)));
}

TEST(MayEndJob, if_ranks_cannot_continue) {
  for (const Fault fault : {Fault::process_dead, Fault::process_stopped, Fault::rank_stuck, Fault::deadlock})
    EXPECT_TRUE(may_end_job(verdict(fault, 1)));
  EXPECT_FALSE(may_end_job(verdict(Fault::node_down, 1)));
  EXPECT_FALSE(may_end_job(verdict(Fault::rank_slow, 1)));
}

TEST(CallsForAvoiding, if_what_the_node_holds_is_in_danger) {
  EXPECT_TRUE(calls_for_avoiding(verdict(Fault::store_failing, 1)));
  EXPECT_TRUE(calls_for_avoiding(verdict(Fault::store_full, 1)));
  EXPECT_TRUE(calls_for_avoiding(verdict(Fault::node_down, 1)));
  EXPECT_FALSE(calls_for_avoiding(verdict(Fault::node_stolen, 1)));
  EXPECT_FALSE(calls_for_avoiding(verdict(Fault::process_dead, 1)));
}

TEST(CallsForAvoiding, without_a_known_fault_only_if_somebody_outside_has_reported_the_node) {
  Verdict suspected = verdict(Fault::undetermined, 1);
  EXPECT_FALSE(calls_for_avoiding(suspected));
  Observation seen;
  seen.kind = SymptomKind::suspected;
  suspected.evidence.push_back(seen);
  EXPECT_TRUE(calls_for_avoiding(suspected));
  EXPECT_FALSE(calls_for_replacing(suspected)) << "no probe has confirmed anything";
  suspected.suspect.rank = Rank{3};
  EXPECT_FALSE(calls_for_avoiding(suspected));
  EXPECT_TRUE(calls_for_replacing(verdict(Fault::store_failing, 1)));
}

TEST(SnapshotCalls, take_one_snapshot_for_each_verdict) {
  SnapshotCalls calls;
  EXPECT_FALSE(calls.due(seconds(0)));
  calls.take(verdict(Fault::store_failing, 2));
  EXPECT_THAT(calls.due(seconds(1)), Optional(ElementsAre(NodeId{2})));
  EXPECT_FALSE(calls.due(seconds(1) + SnapshotCalls::kLeastInterval));
  calls.take(verdict(Fault::store_failing, 2));
  EXPECT_FALSE(calls.due(seconds(1) + SnapshotCalls::kLeastInterval));
}

TEST(SnapshotCalls, keep_their_distance_and_name_all_nodes_that_are_in_danger) {
  SnapshotCalls calls;
  calls.take(verdict(Fault::store_failing, 2));
  EXPECT_TRUE(calls.due(seconds(5)));
  calls.take(verdict(Fault::node_swapping, 1));
  calls.take(verdict(Fault::link_degraded, 1));
  EXPECT_FALSE(calls.due(seconds(4) + SnapshotCalls::kLeastInterval));
  EXPECT_THAT(calls.due(seconds(5) + SnapshotCalls::kLeastInterval), Optional(ElementsAre(NodeId{1}, NodeId{2})));
}

TEST(SnapshotCalls, leave_out_what_was_withdrawn) {
  SnapshotCalls calls;
  calls.take(verdict(Fault::store_failing, 2));
  calls.take(verdict(Fault::store_failing, 2, true));
  EXPECT_FALSE(calls.due(seconds(1)));
  calls.take(verdict(Fault::head_overloaded, 2));
  EXPECT_FALSE(calls.due(seconds(1)));
}

}  // namespace
}  // namespace cairn::localize
