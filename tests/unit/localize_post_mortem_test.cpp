// The analysis of symptoms that a job has left when it ended.
#include "localize/post_mortem.hpp"

#include <gtest/gtest.h>

namespace cairn::localize {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

Observation store_errors(std::uint32_t node, std::uint32_t count, Time age) {
  return {SymptomKind::store_error, {NodeId{node}, std::nullopt}, NodeId{node}, age, age, age, count, 1};
}

class PostMortemTest : public testing::Test {
 protected:
  [[nodiscard]] std::vector<Verdict> found(const std::vector<Observation>& symptoms) { return analyse(symptoms, how); }
  std::vector<Probe> asked;
  std::vector<std::pair<ProbeFact, double>> state;
  PostMortem how{RuleBook().rules(), minutes(10), 3, [this](Probe probe, const Suspect&) {
                   asked.push_back(probe);
                   return probe == Probe::state ? state : std::vector<std::pair<ProbeFact, double>>{};
                 }};
};

TEST_F(PostMortemTest, a_probe_that_can_still_be_made_confirms_a_fault) {
  state = {{ProbeFact::state_store_failed, 1}};
  const auto verdicts = found({store_errors(4, 2, seconds(9))});
  ASSERT_EQ(verdicts.size(), 1U);
  EXPECT_EQ(verdicts[0].fault, Fault::store_failing);
  EXPECT_EQ(verdicts[0].suspect.node, NodeId{4});
  EXPECT_EQ(verdicts[0].evidence.at(0).count, 2U);
}

TEST_F(PostMortemTest, without_an_answer_it_is_undetermined_with_the_evidence) {
  const auto verdicts = found({store_errors(4, 2, seconds(9))});
  ASSERT_EQ(verdicts.size(), 1U);
  EXPECT_EQ(verdicts[0].fault, Fault::undetermined);
  EXPECT_EQ(verdicts[0].evidence.at(0).kind, SymptomKind::store_error);
}

TEST_F(PostMortemTest, one_symptom_proves_nothing) {
  EXPECT_TRUE(found({store_errors(4, 1, seconds(9))}).empty());
  EXPECT_TRUE(asked.empty());
}

TEST_F(PostMortemTest, symptoms_of_several_stores_add_up) {
  auto other = store_errors(4, 1, seconds(20));
  other.reporter = NodeId{0};
  EXPECT_EQ(found({store_errors(4, 1, seconds(9)), other}).size(), 1U);
}

TEST_F(PostMortemTest, old_symptoms_do_not_count) { EXPECT_TRUE(found({store_errors(4, 3, minutes(10))}).empty()); }

TEST_F(PostMortemTest, what_is_over_is_excused) {
  state = {{ProbeFact::state_store_room, 2}, {ProbeFact::state_store_refused, 0}, {ProbeFact::state_store_used, 0.5}};
  auto full = store_errors(1, 2, seconds(1));
  full.kind = SymptomKind::store_full;
  EXPECT_TRUE(found({full}).empty());
}

}  // namespace
}  // namespace cairn::localize
