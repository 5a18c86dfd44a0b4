// Evidence: duplicates count once, groups are disjoint, and a storm costs no more than a shower. And what one analysis
// concludes from it.
#include <chrono>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "localize/analysis.hpp"
#include "localize/evidence.hpp"
#include "localize/words.hpp"

namespace cairn::localize {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;
using testing::Not;

Observation at(Time when, std::uint32_t suspect, std::uint32_t reporter, SymptomKind kind = SymptomKind::no_response) {
  return {kind, {NodeId{suspect}, std::nullopt}, NodeId{reporter}, when, when, when, 1, 1};
}

double weight_of(const Evidence& evidence, std::uint32_t suspect) {
  return evidence.weight(evidence.groups(NodeId{suspect}).back(), *RuleBook().rules());
}

TEST(Evidence, counts_a_symptom_that_arrives_twice_once) {
  Evidence evidence(seconds(5));
  for (int i = 0; i < 3; ++i) evidence.add(at(seconds(10), 1, 2));
  EXPECT_EQ(weight_of(evidence, 1), 1);
  evidence.add(at(seconds(11), 1, 2));
  EXPECT_EQ(weight_of(evidence, 1), 2);
}

TEST(Evidence, counts_a_duplicate_once_that_comes_late_and_by_another_way) {
  Evidence evidence(seconds(5));
  evidence.add(at(seconds(10), 1, 2));
  evidence.add(at(seconds(11), 1, 2));
  Observation late = at(seconds(12), 1, 2);
  late.reported = seconds(10);  // sent at 10 s, by the reporter's clock
  evidence.add(late);
  EXPECT_EQ(weight_of(evidence, 1), 2);
}

TEST(Evidence, takes_repeats_of_one_reporter_for_three_at_most) {
  Evidence evidence(seconds(5));
  for (int i = 0; i < 20; ++i) evidence.add(at(seconds(10) + milliseconds(200 * i), 1, 2));
  EXPECT_EQ(evidence.size(), 1U);
  EXPECT_EQ(weight_of(evidence, 1), 3);
}

TEST(Evidence, has_each_observation_in_one_group) {
  Evidence evidence(seconds(5));
  evidence.add(at(seconds(10), 1, 2));
  evidence.add(at(seconds(14), 1, 3));
  evidence.add(at(seconds(18), 1, 4));
  evidence.add(at(seconds(24), 1, 5));
  const auto groups = evidence.groups(NodeId{1});
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_EQ(groups[0].size(), 3U);
  EXPECT_EQ(groups[1].size(), 1U);
  EXPECT_EQ(evidence.weight(groups[0], *RuleBook().rules()), 2);  // within one window: the second and the third
}

TEST(Evidence, forgets_what_is_older_than_the_window) {
  Evidence evidence(seconds(5));
  evidence.add(at(seconds(10), 1, 2));
  evidence.add(at(seconds(10), 7, 2));
  evidence.forget_before(seconds(16), [](NodeId node) { return node == NodeId{7}; });
  EXPECT_TRUE(evidence.groups(NodeId{1}).empty());
  EXPECT_EQ(evidence.take(NodeId{7}).size(), 1U);
  EXPECT_TRUE(evidence.empty());
}

TEST(Evidence, stays_small_in_a_storm) {
  Evidence evidence(seconds(5));
  for (std::uint32_t i = 0; i < 100000; ++i) {
    evidence.add(at(seconds(10) + Time(i), i % 3000, i % 977, static_cast<SymptomKind>(i % kSymptomKinds)));
  }
  EXPECT_LE(evidence.size(), kMostSuspects * kMostObservations);
  EXPECT_LE(evidence.suspects().size(), kMostSuspects);
  for (std::uint32_t i = 0; i < 100000; ++i) evidence.add(at(seconds(11) + Time(i), 5, i));
  EXPECT_LE(evidence.groups(NodeId{5}).back().size(), kMostObservations);
}

TEST(Evidence, suspects_the_rank_about_which_most_is_known) {
  Group group{at(seconds(1), 1, 2)};
  EXPECT_FALSE(suspect_of(group).rank);
  for (const std::uint32_t rank : {4U, 5U, 5U}) {
    group.push_back(at(seconds(1), 1, 2));
    group.back().suspect.rank = Rank{rank};
  }
  EXPECT_EQ(suspect_of(group).rank, Rank{5});
}

Group silence() { return {at(seconds(1), 1, 2), at(seconds(1), 1, 3), at(seconds(1), 1, 4)}; }

TEST(Analysis, asks_the_cheapest_probe_first_and_stops_once_a_fault_is_confirmed) {
  Analysis analysis(RuleBook().rules(), silence(), seconds(2));
  EXPECT_EQ(analysis.outcome(), Analysis::Outcome::open);
  EXPECT_EQ(analysis.next_probe(), Probe::response);
  analysis.learn(Probe::response, {{ProbeFact::response_answers, 0}});
  EXPECT_EQ(analysis.next_probe(), Probe::witness);
  analysis.learn(Probe::witness, {{ProbeFact::witness_reached, 0}, {ProbeFact::witness_near_silent, 0}});
  EXPECT_FALSE(analysis.next_probe());
  EXPECT_EQ(analysis.outcome(), Analysis::Outcome::confirmed);
  const Verdict verdict = analysis.verdict(NodeId{0}, seconds(3));
  EXPECT_EQ(verdict.fault, Fault::node_down);
  EXPECT_EQ(verdict.threshold_at, seconds(2));
  EXPECT_EQ(verdict.evidence.size(), 3U);
}

TEST(Analysis, ends_undetermined_with_the_evidence_if_no_candidate_is_confirmed) {
  Analysis analysis(RuleBook().rules(), {at(seconds(1), 1, 2, SymptomKind::store_error)}, seconds(2));
  while (const auto probe = analysis.next_probe()) analysis.learn(*probe, {});
  EXPECT_EQ(analysis.outcome(), Analysis::Outcome::undetermined);
  EXPECT_EQ(analysis.verdict(NodeId{0}, seconds(3)).evidence.size(), 1U);
}

TEST(Analysis, excuses_a_node_that_answers_again) {
  Analysis analysis(RuleBook().rules(), silence(), seconds(2));
  analysis.learn(Probe::response, {{ProbeFact::response_answers, 1}});
  EXPECT_EQ(analysis.next_probe(), Probe::state);
  analysis.learn(Probe::state, {{ProbeFact::state_queue, 0},
                                {ProbeFact::state_stolen, 0},
                                {ProbeFact::state_memory, 0},
                                {ProbeFact::state_bandwidth, 1}});
  EXPECT_EQ(analysis.outcome(), Analysis::Outcome::excused);
  EXPECT_TRUE(analysis.excused().test(static_cast<std::size_t>(SymptomKind::no_response)));
}

TEST(Analysis, asks_again_whether_it_answers_if_a_later_probe_has_no_answer) {
  Analysis analysis(RuleBook().rules(), silence(), seconds(2));
  analysis.learn(Probe::response, {{ProbeFact::response_answers, 1}});
  analysis.learn(Probe::state, {});
  EXPECT_EQ(analysis.next_probe(), Probe::response);
  analysis.learn(Probe::response, {{ProbeFact::response_answers, 0}});
  EXPECT_EQ(analysis.next_probe(), Probe::witness);
}

TEST(VerdictText, says_what_is_wrong_with_what_and_who_saw_it) {
  Analysis analysis(RuleBook().rules(), silence(), seconds(2));
  analysis.learn(Probe::response, {{ProbeFact::response_answers, 0}});
  analysis.learn(Probe::witness, {{ProbeFact::witness_reached, 0}, {ProbeFact::witness_near_silent, 0}});
  const std::string text = verdict_text(analysis.verdict(NodeId{0}, seconds(3)));
  EXPECT_THAT(text,
              HasSubstr("node 1 may be down: its head does not answer (messages without an answer from nodes 2, 3, 4"));
  for (std::size_t i = 0; i < kFaults; ++i) {
    Verdict verdict;
    verdict.fault = static_cast<Fault>(i);
    verdict.suspect.rank = Rank{8};
    EXPECT_THAT(verdict_text(verdict), HasSubstr(is_of_rank(verdict.fault) ? "rank 8" : "node")) << i;
  }
}

TEST(VerdictText, names_the_host_and_how_many_operations_of_the_store_have_failed) {
  Verdict verdict;
  verdict.fault = Fault::store_failing;
  verdict.suspect.node = NodeId{1};
  verdict.findings = {{fact_of(ProbeFact::state_store_operations), 40}, {fact_of(ProbeFact::state_store_failed), 3}};
  EXPECT_THAT(verdict_text(verdict, {{"c16", "c17"}, std::nullopt}),
              HasSubstr("node 1 (host c17) is sick: its store fails, 3 of 40 operations ("));
  verdict.findings = {{fact_of(ProbeFact::state_store_operations), 9}, {fact_of(ProbeFact::state_store_failed), 9}};
  EXPECT_THAT(verdict_text(verdict), HasSubstr("9 of 9 operations; set [storage] local to another directory ("));
}

TEST(VerdictText, tells_the_last_error_of_a_store) {
  Verdict verdict;
  verdict.fault = Fault::store_failing;
  verdict.suspect.node = NodeId{1};
  verdict.evidence = {{SymptomKind::store_error, verdict.suspect, NodeId{1}}};
  verdict.evidence.front().note = "rank3.shard: cannot write: Input/output error";
  EXPECT_THAT(verdict_text(verdict), HasSubstr("; last error: \"rank3.shard: cannot write: Input/output error\" ("));
  EXPECT_THAT(verdict_text(verdict), Not(HasSubstr("reported")));
}

TEST(VerdictText, tells_which_snapshot_would_be_restored) {
  Verdict verdict;
  verdict.suspect.node = NodeId{1};
  const auto text = [&](Fault fault, std::optional<Outlook> outlook) {
    verdict.fault = fault;
    return verdict_text(verdict, {{}, {}, outlook});
  };
  const Outlook newest{Restorable{Version{15}, LevelId::partner, {}}};
  EXPECT_THAT(text(Fault::store_failing, newest), HasSubstr("; if the node is lost, version 15 (L2) is restored ("));
  EXPECT_THAT(text(Fault::store_failing, Outlook{}), HasSubstr("; if the node is lost, no snapshot is left ("));
  EXPECT_THAT(text(Fault::rank_stuck, newest), HasSubstr("; after a restart, version 15 (L2) is restored ("));
  EXPECT_THAT(text(Fault::rank_stuck, Outlook{}), HasSubstr("; there is no snapshot to restart from ("));
  EXPECT_THAT(text(Fault::store_failing, std::nullopt), Not(HasSubstr("restored")));
  EXPECT_THAT(text(Fault::node_stolen, newest), Not(HasSubstr("restored")));
  verdict.withdrawn = true;
  EXPECT_THAT(text(Fault::store_failing, newest), Not(HasSubstr("restored")));
}

TEST(VerdictText, counts_the_neighbours_that_saw_wrong_data) {
  Verdict verdict;
  verdict.fault = Fault::store_failing;
  verdict.suspect.node = NodeId{1};
  verdict.evidence = {{SymptomKind::store_error, verdict.suspect, NodeId{1}, {}, {}, {}, 3, 0.5},
                      {SymptomKind::crc_mismatch, verdict.suspect, NodeId{2}, {}, {}, {}, 1, 0.5}};
  EXPECT_THAT(verdict_text(verdict), HasSubstr("; 1 neighbour saw CRC errors ("));
  verdict.evidence.push_back({SymptomKind::crc_mismatch, verdict.suspect, NodeId{3}, {}, {}, {}, 1, 0.5});
  verdict.evidence.push_back({SymptomKind::crc_mismatch, verdict.suspect, NodeId{3}, {}, {}, {}, 1, 0.7});
  EXPECT_THAT(verdict_text(verdict), HasSubstr("; 2 neighbours saw CRC errors ("));
}

TEST(VerdictText, names_the_out_of_memory_killer_only_if_it_has_ended_processes) {
  Verdict verdict;
  verdict.fault = Fault::process_dead;
  verdict.suspect = {NodeId{1}, Rank{3}};
  const std::string killer = "At about that time, the kernel's out-of-memory killer ended 1 process on its host";
  EXPECT_THAT(verdict_text(verdict), Not(HasSubstr(killer)));
  verdict.findings = {{fact_of(ProbeFact::response_oom_kills), 0}};
  EXPECT_THAT(verdict_text(verdict), Not(HasSubstr(killer)));
  verdict.findings = {{fact_of(ProbeFact::response_oom_kills), 1}};
  EXPECT_THAT(verdict_text(verdict), HasSubstr(killer));
}

Verdict of_node(Fault fault, std::vector<Finding> findings) {
  Verdict verdict;
  verdict.fault = fault;
  verdict.suspect.node = NodeId{1};
  verdict.findings = std::move(findings);
  return verdict;
}

TEST(VerdictText, does_not_claim_that_a_node_is_down_and_says_who_was_asked) {
  const auto text = [](double others) {
    return verdict_text(of_node(Fault::node_down, {{fact_of(ProbeFact::witness_unreached), others}}));
  };
  EXPECT_THAT(text(3), HasSubstr("node 1 may be down: its head does not answer, and 3 other nodes do not reach it"));
  EXPECT_THAT(text(1), HasSubstr("and another node does not reach it either"));
  EXPECT_THAT(text(0), HasSubstr("and no third node was able to ask it"));
}

TEST(VerdictText, says_how_much_room_a_full_store_has) {
  const Finding free{fact_of(ProbeFact::state_store_free), 1.5 * (1 << 20)};
  EXPECT_THAT(
      verdict_text(of_node(Fault::store_full, {free, {fact_of(ProbeFact::state_store_room), 0.5}})),
      HasSubstr("1.5 MiB are free, less than the next snapshot of its ranks takes; lower [storage] keep_local ("));
  EXPECT_THAT(verdict_text(of_node(Fault::store_full, {free, {fact_of(ProbeFact::state_store_refused), 2}})),
              HasSubstr("1.5 MiB are free; 2 of its operations found no room; lower [storage] keep_local, or set "));
}

TEST(VerdictText, says_why_a_link_or_a_head_is_slow) {
  EXPECT_THAT(verdict_text(of_node(Fault::link_degraded, {})), HasSubstr("node 1 has a slow link ("));
  EXPECT_THAT(verdict_text(of_node(Fault::link_degraded, {{fact_of(ProbeFact::state_bandwidth), 0.23}})),
              HasSubstr("node 1 has a slow link: its transfers reach 23 % of the rate of node 0 ("));
  EXPECT_THAT(verdict_text(of_node(Fault::link_degraded, {{fact_of(ProbeFact::state_network_errors), 0.02}})),
              HasSubstr("a network card reports errors, 2 % of its packets"));
  EXPECT_THAT(verdict_text(of_node(Fault::head_overloaded, {{fact_of(ProbeFact::state_queue), 42}})),
              HasSubstr("messages wait for it for up to 42 s"));
}

TEST(VerdictText, says_why_a_rank_is_slow) {
  const auto text = [](ProbeFact fact) {
    Verdict verdict = of_node(Fault::rank_slow, {{fact_of(fact), 0.5}});
    verdict.suspect.rank = Rank{3};
    return verdict_text(verdict);
  };
  EXPECT_THAT(text(ProbeFact::log_held), HasSubstr("its process is stopped and continued all the time, 50 % of it"));
  EXPECT_THAT(text(ProbeFact::log_crowded), HasSubstr("it waits for a processor for 50 % of the time"));
}

TEST(VerdictText, has_the_words_of_those_who_report_from_outside) {
  Verdict verdict = of_node(Fault::undetermined, {});
  verdict.evidence = {{SymptomKind::suspected, verdict.suspect, NodeId{0}, {}, {}, {}, 1, 1, "the fan is loud"}};
  EXPECT_THAT(verdict_text(verdict),
              HasSubstr("node 1 is suspected, but no probe has found anything; reported: \"the fan is loud\" ("));
  verdict.evidence.push_back({SymptomKind::network_error, verdict.suspect, NodeId{0}, {}, {}, {}, 1, 1});
  EXPECT_THAT(verdict_text(verdict), HasSubstr("node 1 is sick, but no probe has found out why; reported: "));
}

Verdict stuck(const Blocker& blocker) {
  Verdict verdict;
  verdict.fault = Fault::rank_stuck;
  verdict.suspect = {NodeId{1}, Rank{3}};
  verdict.blocker = blocker;
  return verdict;
}

TEST(VerdictText, says_what_a_stuck_rank_does_and_where_others_wait) {
  Blocker blocker{.doing = Blocker::Doing::computes,
                  .seconds = 72,
                  .call = "MPI_Bcast",
                  .awaited = "MPI_Alltoall",
                  .waiting = 27,
                  .waited = 70};
  EXPECT_THAT(
      verdict_text(stuck(blocker)),
      HasSubstr("rank 3 on node 1 may be stuck: it has been computing for 72 s, since its MPI_Bcast, and 27 ranks "
                "have waited up to 70 s for it in MPI_Alltoall ("));
  blocker.doing = Blocker::Doing::in_call;
  EXPECT_THAT(verdict_text(stuck(blocker)), HasSubstr("it has been in MPI_Bcast for 72 s"));
}

TEST(VerdictText, says_what_is_not_known_of_a_stuck_rank) {
  Blocker blocker{.call = "MPI_Bcast", .awaited = "MPI_Alltoall", .waiting = 1, .likely = false};
  EXPECT_THAT(verdict_text(stuck(blocker)), HasSubstr("1 rank may have waited up to 0 s for it"));
  EXPECT_THAT(verdict_text(stuck(blocker)), Not(HasSubstr("Unknown")));
  blocker.unseen = 4;
  blocker.silent = {NodeId{6}, NodeId{7}};
  EXPECT_THAT(verdict_text(stuck(blocker)),
              HasSubstr("in MPI_Alltoall. Unknown: what 4 ranks do (no answer from nodes 6, 7)"));
}

}  // namespace
}  // namespace cairn::localize
