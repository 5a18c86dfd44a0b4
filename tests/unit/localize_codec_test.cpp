// Messages of fault localization survive the way over the wire, and damaged ones are refused.
#include "localize/codec.hpp"

#include <gtest/gtest.h>

#include "localize/facts.hpp"

namespace cairn::localize {
namespace {

using std::chrono::seconds;

Observation seen() {
  return {SymptomKind::store_error, {NodeId{5}, Rank{20}}, NodeId{3}, seconds(1), seconds(2), seconds(9), 4, 0.25};
}

Verdict verdict() {
  return {
      Fault::store_failing,
      {NodeId{5}, std::nullopt},
      {NodeId{6}},
      NodeId{1},
      seconds(7),
      seconds(8),
      true,
      {seen()},
      {{fact_of(ProbeFact::state_store_errors), 0.1}},
      Blocker{{NodeId{5}, Rank{20}}, Blocker::Doing::polls, 9, "MPI_Test", "MPI_Barrier", 3, 8, false, 1, {NodeId{4}}}};
}

std::vector<Message> samples() {
  std::vector<Message> all;
  const auto add = [&](auto body) { all.push_back({NodeId{2}, 17, std::move(body)}); };
  add(EvidenceNote{{seen()}, {NodeId{0}}, 2});
  add(VerdictNote{verdict(), {NodeId{0}}});
  add(Receipt{16});
  add(Question{15, Probe::log, {NodeId{4}, Rank{9}}, true});
  add(Answer{15, ResponseAnswer{RankProcess{true, true, 2}}});
  add(Answer{15, WitnessAnswer{true}});
  add(Answer{15, NodeState{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14}});
  add(Answer{15, NodeLog{RankPace{0.5, 0.25}, 4, 5, Buffer(7)}});
  add(Bulletin{NodeId{3}, false});
  return all;
}

// Nothing is lost: what was read is written the same.
TEST(Codec, reads_back_every_kind_of_message) {
  for (const Message& message : samples()) {
    const Buffer bytes = encode(message);
    const auto read = decode_message(bytes);
    ASSERT_TRUE(read) << message.body.index();
    EXPECT_EQ(read->body.index(), message.body.index());
    EXPECT_EQ(encode(*read), bytes) << message.body.index();
  }
}

TEST(Codec, reads_back_what_was_observed) {
  const auto read = decode_message(encode({NodeId{2}, 17, EvidenceNote{{seen()}, {}, 0}}));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->from, NodeId{2});
  EXPECT_EQ(read->number, 17U);
  EXPECT_EQ(std::get<EvidenceNote>(read->body).observations.front(), seen());
}

TEST(Codec, refuses_messages_that_were_cut_or_lengthened) {
  for (const Message& message : samples()) {
    Buffer bytes = encode(message);
    for (std::size_t length = 0; length < bytes.size(); ++length)
      EXPECT_FALSE(decode_message(Bytes(bytes).first(length)));
    bytes.push_back({});
    EXPECT_FALSE(decode_message(bytes));
  }
}

TEST(Codec, refuses_kinds_faults_and_facts_that_there_are_not) {
  Observation unknown = seen();
  unknown.kind = static_cast<SymptomKind>(kSymptomKinds);
  EXPECT_FALSE(decode_message(encode({NodeId{2}, 1, EvidenceNote{{unknown}, {}, 0}})));
  Verdict strange = verdict();
  strange.fault = static_cast<Fault>(kFaults);
  EXPECT_FALSE(decode_message(encode({NodeId{2}, 1, VerdictNote{strange, {}}})));
  strange = verdict();
  strange.blocker->doing = static_cast<Blocker::Doing>(kBlockerDoings);
  EXPECT_FALSE(decode_message(encode({NodeId{2}, 1, VerdictNote{strange, {}}})));
  strange = verdict();
  strange.findings.front().fact = kFacts;
  EXPECT_FALSE(decode_message(encode({NodeId{2}, 1, VerdictNote{strange, {}}})));
}

}  // namespace
}  // namespace cairn::localize
