// What heads decide on a version from the votes of all.
#include <algorithm>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/vote.hpp"
#include "support/facts.hpp"

namespace cairn {
namespace {

using test::Fails;

LevelSet levels(LevelId level) {
  LevelSet set;
  set.add(level);
  return set;
}

const Vote kGood = Vote::on(Version{4}, levels(LevelId::local), 9);

Vote reduced(std::vector<Vote> votes) {
  Vote all = votes.front();
  for (Vote& vote : votes)
    std::ranges::transform(all.words(), vote.words(), all.words().begin(),
                           [](std::uint64_t a, std::uint64_t b) { return std::max(a, b); });
  return all;
}

Error objection_to(std::vector<Vote> votes) {
  return reduced(std::move(votes)).objection().value_or(Error{Code::config, "none", {}});
}

TEST(Vote, takes_a_failure_of_no_known_kind_for_one_of_communication) {
  Vote other = kGood;
  other.fail(NodeId{1}, static_cast<Code>(77));
  const Error error = objection_to({kGood, other});
  EXPECT_THAT(error, Fails(Code::communication, {"node 1"}));
}

TEST(Vote, tells_what_stores_have_lost_whatever_it_decides) {
  Vote one = kGood;
  one.note_lost(Version{1});
  one.note_lost(Version{3});
  Vote other = Vote::on_nothing(NodeId{2}, Version{3}, {});
  other.note_lost(Version{2});
  const Vote all = reduced({one, kGood, other});
  EXPECT_TRUE(all.objection());
  for (const std::uint32_t version : {0U, 1U, 2U, 3U, 4U, 11U})
    EXPECT_EQ(all.has_lost(Version{version}), version >= 1 && version <= 3) << version;
  EXPECT_FALSE(reduced({kGood, kGood}).has_lost(Version{1}));
}

TEST(Vote, names_a_layout_only_if_all_heads_have_offered_the_same) {
  const auto offer = [](std::uint32_t layout, std::uint64_t same_place, std::uint64_t other_place) {
    Vote vote = kGood;
    vote.note_layout(LayoutId{layout}, same_place, other_place);
    return vote;
  };
  const auto agreed = reduced({offer(7, 2, 0), offer(7, 0, 1), offer(7, 1, 0)}).layout();
  ASSERT_TRUE(agreed);
  EXPECT_EQ(agreed->id, LayoutId{7});
  EXPECT_EQ(agreed->same_place, 2U);
  EXPECT_EQ(agreed->other_place, 1U);
  EXPECT_TRUE(reduced({offer(0, 0, 0), offer(0, 0, 0)}).layout()) << "an id may be 0";
  EXPECT_FALSE(reduced({offer(7, 0, 0), offer(8, 0, 0)}).layout());
  Vote content = kGood;
  content.note_no_layout();
  EXPECT_FALSE(reduced({offer(7, 0, 0), content}).layout());
  EXPECT_FALSE(reduced({content, content}).layout());
  EXPECT_FALSE(reduced({kGood, kGood}).layout()) << "a vote after the first";
  EXPECT_FALSE(reduced({offer(7, 0, 0), offer(8, 0, 0)}).objection()) << "the snapshot does not suffer";
}

TEST(Vote, tells_the_newer_of_two_losses_that_share_a_place) {
  Vote one = kGood;
  one.note_lost(Version{2});
  one.note_lost(Version{34});
  EXPECT_TRUE(one.has_lost(Version{34}));
  EXPECT_FALSE(one.has_lost(Version{2}));
}

TEST(Vote, seals_what_all_nodes_have_sealed_alike) {
  EXPECT_FALSE(reduced({kGood, kGood, kGood}).objection());
  EXPECT_FALSE(reduced({kGood}).nothing_is_left());
}

TEST(Vote, objects_to_a_node_that_failed_and_names_it) {
  Vote failed = kGood;
  failed.fail(NodeId{2}, Code::no_space);
  const Error error = objection_to({kGood, kGood, failed});
  EXPECT_THAT(error, Fails(Code::failed_elsewhere, {"node 2"}));
  EXPECT_EQ(reduced({kGood, failed}).failed_node(), NodeId{2});
}

TEST(Vote, keeps_the_kind_of_an_error_that_is_the_whole_jobs) {
  Vote failed = kGood;
  failed.fail(NodeId{0}, Code::taken_over);
  EXPECT_EQ(objection_to({kGood, failed}).code, Code::taken_over);
}

TEST(Vote, objects_to_different_levels_safe_points_and_versions) {
  EXPECT_THAT(objection_to({kGood, Vote::on(Version{4}, levels(LevelId::partner), 9)}),
              Fails(Code::invalid_argument, {"L1", "L2"}));
  EXPECT_THAT(objection_to({kGood, Vote::on(Version{4}, levels(LevelId::local), 10)}),
              Fails(Code::invalid_argument, {"snapshot()", "9", "10"}));
  EXPECT_THAT(objection_to({kGood, Vote::on(Version{5}, levels(LevelId::local), 9)}),
              Fails(Code::invalid_argument, {"version 4", "version 5"}));
}

TEST(Vote, knows_the_levels_that_all_heads_with_a_version_have_named) {
  Vote failed = kGood;
  failed.fail(NodeId{1}, Code::no_space);
  EXPECT_EQ(reduced({kGood, failed, Vote::on_nothing(NodeId{2}, Version{3}, {})}).levels(), levels(LevelId::local));
  EXPECT_EQ(reduced({kGood, Vote::on(Version{4}, levels(LevelId::partner), 9)}).levels(), LevelSet{});
  EXPECT_EQ(reduced({Vote::on_nothing(NodeId{2}, Version{3}, {})}).levels(), LevelSet{});
}

TEST(Vote, objects_where_the_ranks_of_a_node_have_gone_on_without_it) {
  const Error error = objection_to({kGood, Vote::on_nothing(NodeId{1}, Version{3}, {}), kGood});
  EXPECT_THAT(error, Fails(Code::invalid_argument, {"node 1"}));
}

TEST(Vote, finds_nothing_left_once_no_node_has_a_version) {
  const Vote end = reduced({Vote::on_nothing(NodeId{0}, Version{3}, {.for_restore = {}, .for_end = true}),
                            Vote::on_nothing(NodeId{1}, Version{5}, {.for_restore = {}, .for_end = true})});
  EXPECT_TRUE(end.nothing_is_left());
  EXPECT_EQ(end.highest(), Version{5});
  EXPECT_FALSE(end.different_calls());
}

TEST(Vote, finds_that_ranks_wait_for_different_things) {
  const auto error = reduced({Vote::on_nothing(NodeId{0}, Version{3}, {.for_restore = {{}}, .for_end = false}),
                              Vote::on_nothing(NodeId{1}, Version{3}, {.for_restore = {}, .for_end = true})})
                         .different_calls();
  EXPECT_THAT(error, Fails(Code::invalid_argument, {"node 0", "restore()", "node 1", "finalize()"}));
  EXPECT_TRUE(Vote::on_nothing(NodeId{0}, Version{3}, {.for_restore = {{}}, .for_end = true}).different_calls());
}

// Of a node whose ranks wait for restores of these versions.
Vote waiting_for(const std::vector<RestoreRequest>& requests) {
  return Vote::on_nothing(NodeId{0}, Version{3}, {.for_restore = requests, .for_end = false});
}

TEST(Vote, finds_the_version_that_all_ranks_ask_for) {
  const RestoreRequest five{Version{5}, {}, true, false};
  const auto found = reduced({waiting_for({five, five}), waiting_for({five})}).request();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->version, Version{5});
  EXPECT_TRUE(found->at_start);
  EXPECT_FALSE(found->again);
  EXPECT_EQ(reduced({waiting_for({{}}), waiting_for({{}})}).request()->version, Version{});
}

TEST(Vote, names_the_versions_where_ranks_ask_for_different_ones) {
  const RestoreRequest five{Version{5}, {}, true, false};
  const RestoreRequest six{Version{6}, {}, true, false};
  const auto of_nodes = reduced({waiting_for({five}), waiting_for({six})}).request();
  ASSERT_FALSE(of_nodes);
  EXPECT_THAT(of_nodes.error(), Fails(Code::mismatch, {"version 5", "version 6"}));
  EXPECT_FALSE(waiting_for({five, {}}).request());
}

TEST(Vote, tells_the_calls_apart_that_wait_for_the_heads) {
  const RestoreRequest restores{Version{5}};
  const RestoreRequest opens{.version = Version{5}, .call = SettledCall::open};
  const RestoreRequest closes{.version = Version{5}, .call = SettledCall::close};
  const RestoreRequest rejects{.version = Version{5}, .call = SettledCall::close, .rejects = true};
  EXPECT_EQ(reduced({waiting_for({opens}), waiting_for({opens})}).request()->call, SettledCall::open);
  EXPECT_THAT(reduced({waiting_for({opens}), waiting_for({restores})}).request().error(),
              Fails(Code::invalid_argument, {"open_snapshot()", "restore()"}));
  EXPECT_THAT(waiting_for({opens, closes}).request().error(),
              Fails(Code::invalid_argument, {"open_snapshot()", "close()"}));
  EXPECT_FALSE(reduced({waiting_for({closes}), waiting_for({closes})}).request()->rejects);
  EXPECT_TRUE(reduced({waiting_for({closes}), waiting_for({rejects})}).request()->rejects);
  // A head without ranks.
  EXPECT_EQ(reduced({waiting_for({}), waiting_for({opens})}).request()->call, SettledCall::open);
}

TEST(Vote, tells_restores_by_label_from_others) {
  const RestoreRequest peak{{}, "peak", true, false};
  const RestoreRequest other{{}, "other", true, false};
  const auto same_label = reduced({waiting_for({peak}), waiting_for({peak})});
  EXPECT_TRUE(same_label.request());
  EXPECT_TRUE(same_label.is_for_label());
  EXPECT_FALSE(waiting_for({{}}).is_for_label());
  EXPECT_FALSE(waiting_for({{Version{5}}}).is_for_label());
  EXPECT_THAT(waiting_for({peak, {}}).request().error(), Fails(Code::mismatch, {"the newest version", "a label"}));
  EXPECT_THAT(waiting_for({peak, {Version{5}}}).request().error(), Fails(Code::mismatch, {"version 5", "a label"}));
  EXPECT_FALSE(reduced({waiting_for({peak}), waiting_for({other})}).request());
}

// Of nodes whose ranks have set labels and attributes of these digests.
Vote noting(std::uint64_t label, std::uint64_t attributes) {
  Vote vote = Vote::on(Version{3}, {}, 7);
  vote.note_label(label);
  vote.note_attributes(attributes);
  return vote;
}

TEST(Vote, refuses_different_labels_and_attributes_but_not_none) {
  EXPECT_FALSE(reduced({noting(5, 6), noting(5, 6)}).objection());
  EXPECT_FALSE(reduced({noting(5, 6), noting(0, 0)}).objection());
  EXPECT_FALSE(reduced({noting(0, 0), noting(0, 0)}).objection());
  const auto labels = reduced({noting(5, 6), noting(4, 6)}).objection();
  ASSERT_TRUE(labels);
  EXPECT_THAT(*labels, Fails(Code::mismatch, {"labels"}));
  const auto attributes = reduced({noting(5, 6), noting(0, 7)}).objection();
  ASSERT_TRUE(attributes);
  EXPECT_THAT(*attributes, Fails(Code::mismatch, {"attributes"}));
  Vote two_ranks = noting(5, 6);
  two_ranks.note_label(4);
  EXPECT_TRUE(two_ranks.objection());
}

}  // namespace
}  // namespace cairn
