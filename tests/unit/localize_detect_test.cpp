// The detectors: what is a symptom, and what is not.
#include "localize/detect.hpp"

#include <gtest/gtest.h>

namespace cairn::localize {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr About kAbout{{NodeId{3}, std::nullopt}, NodeId{1}, seconds(100)};
const DetectorLimits kLimits;

TEST(Detect, names_kind_suspect_reporter_time_and_measure) {
  const auto symptom = detect_stolen(kAbout, 0.5, kLimits);
  ASSERT_TRUE(symptom);
  EXPECT_EQ(*symptom,
            (Symptom{SymptomKind::processor_stolen, {NodeId{3}, std::nullopt}, NodeId{1}, seconds(100), 0.5}));
}

TEST(Detect, takes_heartbeats_for_missed_after_some_periods) {
  const auto late = kLimits.heartbeat_period * kLimits.heartbeats_missed;
  EXPECT_FALSE(detect_heartbeat(kAbout, kAbout.now - late + milliseconds(1), kLimits));
  const auto symptom = detect_heartbeat(kAbout, kAbout.now - late, kLimits);
  ASSERT_TRUE(symptom);
  EXPECT_EQ(symptom->measure, kLimits.heartbeats_missed);
}

TEST(Detect, sees_pressure_from_its_limit_on) {
  EXPECT_FALSE(detect_memory(kAbout, 0.1, kLimits));
  EXPECT_TRUE(detect_memory(kAbout, 0.3, kLimits));
}

TEST(Detect, counts_the_dead_processes_of_each_node) {
  const std::vector<NodeId> node_of_process{{0}, {0}, {0}, {1}, {1}, {2}};
  const auto found = [&](const std::vector<Peer>& dead) { return detect_dead(kAbout, dead, node_of_process); };
  EXPECT_TRUE(found({}).empty()) << "a revoked communicator alone";
  const auto symptoms = found({{0}, {4}, {2}, {9}});
  ASSERT_EQ(symptoms.size(), 2U);
  EXPECT_EQ(symptoms[0].kind, SymptomKind::process_failed);
  EXPECT_EQ(symptoms[0].suspect, (Suspect{NodeId{0}, std::nullopt}));
  EXPECT_EQ(symptoms[0].reporter, kAbout.reporter);
  EXPECT_EQ(symptoms[0].measure, 2);
  EXPECT_EQ(symptoms[1].suspect, (Suspect{NodeId{1}, std::nullopt}));
  EXPECT_EQ(symptoms[1].measure, 1);
}

TEST(FarBelow, finds_the_one_slow_link_among_its_siblings) {
  const auto found = far_below(std::vector<double>{100, 98, 103, 20, 97, 101}, kLimits);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].place, 3U);
  EXPECT_NEAR(found[0].share, 0.2, 0.01);
}

TEST(FarBelow, finds_nothing_where_all_are_slow_or_all_differ_or_there_are_few) {
  EXPECT_TRUE(far_below(std::vector<double>{20, 21, 19, 20}, kLimits).empty());
  EXPECT_TRUE(far_below(std::vector<double>{100, 30, 210, 60, 150, 330}, kLimits).empty());
  EXPECT_TRUE(far_below(std::vector<double>{100, 100, 20}, kLimits).empty());
  EXPECT_TRUE(far_below(std::vector<double>{0, 0, 0, 0, 0}, kLimits).empty());
  EXPECT_TRUE(far_below({}, kLimits).empty());
}

TEST(MedianOf, is_the_middle_one_or_between_the_middle_two) {
  EXPECT_EQ(median_of({}), 0);
  EXPECT_EQ(median_of({3, 1, 2}), 2);
  EXPECT_EQ(median_of({4, 1, 2, 3}), 2.5);
}

}  // namespace
}  // namespace cairn::localize
