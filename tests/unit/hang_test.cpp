// What is found of jobs that hang in one way or another, and of those that do not. Each way with few ranks and with
// many.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/hang_facts.hpp"
#include "support/sample_calls.hpp"

namespace cairn::test {
namespace {

using namespace hang;  // NOLINT(google-build-using-namespace)
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

Said finalize() {
  Said end{"MPI_Finalize", {}};
  end.record.kind = CallKind::other;
  return end;
}

class Hang : public testing::TestWithParam<std::uint32_t> {
 protected:
  Hang() : job(GetParam()), last(GetParam() - 1) {}
  SampleCalls job;
  std::uint32_t last;
};
INSTANTIATE_TEST_SUITE_P(Ranks, Hang, testing::Values(4, 32));

TEST_P(Hang, by_a_receive_that_was_left_out) {
  job.all_last(collective("MPI_Allreduce"), {1});
  job.lasts(1, send(0, 7));
  const HangReport report = job.examine();
  EXPECT_EQ(report.verdict, Verdict::hangs);
  const Finding cycle = first(report);
  EXPECT_EQ(cycle.cause, Cause::circle);
  EXPECT_EQ(cycle.certainty, Certainty::certain);
  EXPECT_EQ(cycle.ranks, ranks({0, 1}));
  EXPECT_THAT(cycle.waiting, SizeIs(GetParam()));
  EXPECT_THAT(circle_of(cycle), ElementsAre(0, 1));
  EXPECT_EQ(need_of(report, 1).reason, Reason::receive_not_posted);
  EXPECT_EQ(need_of(report, 1).call.tag, 7);
  EXPECT_EQ(need_of(report, 0).reason, Reason::collective_not_begun);
  EXPECT_EQ(need_of(report, 0).call.name, "MPI_Allreduce");
  EXPECT_EQ(need_of(report, 0).call.number, 812U);
}

TEST_P(Hang, by_a_send_that_was_left_out) {
  job.all_last(collective("MPI_Barrier"), {2});
  job.lasts(2, receive(3, 7));
  const HangReport report = job.examine();
  EXPECT_EQ(first(report).ranks, ranks({2, 3}));
  EXPECT_EQ(need_of(report, 2).reason, Reason::message_not_sent);
  EXPECT_EQ(need_of(report, 2).call.peer, 3);
  EXPECT_EQ(need_of(report, 2).call.comm, kWorld);
}

TEST_P(Hang, by_swapped_tags) {
  job.lasts(0, receive(1, 7));
  job.lasts(1, send(0, 8));
  const HangReport report = job.examine();
  EXPECT_EQ(report.verdict, Verdict::hangs);
  EXPECT_EQ(need_of(report, 0).reason, Reason::message_sent_otherwise);
  EXPECT_EQ(need_of(report, 0).theirs->tag, 8);
  EXPECT_EQ(need_of(report, 1).reason, Reason::receive_posted_otherwise);
  EXPECT_EQ(need_of(report, 1).theirs->tag, 7);
}

TEST_P(Hang, by_swapped_tags_of_messages_that_were_sent_without_waiting) {
  for (const std::uint32_t rank : {0U, 1U}) {
    const auto other = static_cast<std::int32_t>(1 - rank);
    job.did(rank, send(other, 8, "MPI_Send"));
    job.lasts(rank, receive(other, 7));
  }
  const HangReport report = job.examine();
  EXPECT_EQ(need_of(report, 0).reason, Reason::message_sent_earlier_otherwise);
  EXPECT_EQ(need_of(report, 0).theirs->tag, 8);
  EXPECT_EQ(need_of(report, 0).theirs->peer, 0);
}

TEST_P(Hang, by_one_rank_that_is_not_in_a_collective) {
  job.all_last(collective("MPI_Allreduce"), {last});
  job.facts[last] = kComputes;
  const HangReport report = job.examine();
  EXPECT_EQ(report.verdict, Verdict::suspect);
  const Finding culprit = first(report);
  EXPECT_EQ(culprit.cause, Cause::computes);
  EXPECT_EQ(culprit.ranks, ranks({last}));
  EXPECT_EQ(culprit.certainty, Certainty::likely);
  EXPECT_THAT(culprit.waiting, SizeIs(last));
  EXPECT_NEAR(culprit.since_seconds, 60, 1);
  EXPECT_NEAR(culprit.waited_seconds, kLong, 1);
  EXPECT_EQ(culprit.call->name, "MPI_Barrier");
  EXPECT_EQ(need_of(report).reason, Reason::collective_not_begun);
  EXPECT_EQ(need_of(report).call.number, 812U);
}

TEST_P(Hang, by_a_collective_with_different_roots) {
  job.all_last(collective("MPI_Reduce", 0), {last});
  job.lasts(last, collective("MPI_Reduce", 1));
  const HangReport report = job.examine();
  EXPECT_EQ(report.verdict, Verdict::hangs);
  EXPECT_THAT(report.findings, SizeIs(1));
  EXPECT_EQ(first(report).ranks, ranks({last}));
  EXPECT_THAT(report.notes, IsEmpty()) << "the culprit is told of already";
  EXPECT_EQ(first(report).cause, Cause::collective_mismatch);
  EXPECT_EQ(first(report).call->peer, 1) << "its root";
  EXPECT_EQ(need_of(report).call.peer, 0);
  EXPECT_EQ(need_of(report).call.number, 812U);
  EXPECT_EQ(need_of(report).agreeing, last);
}

TEST_P(Hang, by_a_collective_that_one_entered_as_another_one_and_left) {
  job.lasts(0, collective("MPI_Reduce", 0));
  for (std::uint32_t rank = 1; rank < GetParam(); ++rank) {
    job.did(rank, collective(rank == last ? "MPI_Bcast" : "MPI_Reduce", rank == last ? static_cast<int>(last) : 0));
    job.lasts(rank, collective("MPI_Barrier", kNoPeer, 2));
  }
  const HangReport report = job.examine();
  EXPECT_EQ(report.verdict, Verdict::hangs);
  EXPECT_EQ(first(report).ranks, ranks({last}));
  EXPECT_EQ(first(report).call->name, "MPI_Bcast");
  EXPECT_THAT(first(report).waiting, SizeIs(last)) << "all but the culprit itself";
}

TEST_P(Hang, by_a_circle_of_synchronous_sends) {
  const auto count = static_cast<std::int32_t>(GetParam());
  for (std::int32_t rank = 0; rank < count; ++rank)
    job.lasts(static_cast<std::uint32_t>(rank), send((rank + 1) % count, 5));
  const HangReport report = job.examine();
  EXPECT_EQ(report.verdict, Verdict::hangs);
  EXPECT_THAT(report.findings, SizeIs(1));
  EXPECT_THAT(first(report).ranks, SizeIs(GetParam()));
  EXPECT_THAT(circle_of(first(report)), SizeIs(GetParam()));
  EXPECT_EQ(need_of(report, 0).ranks, std::vector<std::uint32_t>{1});
}

TEST_P(Hang, by_a_stopped_rank) {
  job.all_last(collective("MPI_Allreduce"), {2});
  job.facts[2] = kStopped;
  const HangReport report = job.examine();
  EXPECT_EQ(report.verdict, Verdict::hangs);
  EXPECT_EQ(first(report).ranks, ranks({2}));
  EXPECT_EQ(first(report).cause, Cause::stopped);
}

TEST_P(Hang, by_a_rank_that_was_stopped_inside_a_collective_that_all_have_entered) {
  job.all_last(collective("MPI_Allreduce"));
  job.facts[2] = kStopped;
  const HangReport report = job.examine();
  EXPECT_EQ(report.verdict, Verdict::hangs);
  EXPECT_EQ(first(report).ranks, ranks({2}));
  EXPECT_THAT(first(report).waiting, SizeIs(last));
}

TEST_P(Hang, by_a_rank_that_was_stopped_inside_the_send_that_is_waited_for) {
  job.lasts(0, receive(1, 7));
  job.lasts(1, send(0, 7));
  job.facts[1] = kStopped;
  EXPECT_EQ(first(job.examine()).ranks, ranks({1}));
}

TEST_P(Hang, by_a_rank_in_an_endless_loop) {
  job.all_last(receive(static_cast<std::int32_t>(last), 7), {last});
  job.facts[last] = kComputes;
  const HangReport report = job.examine();
  EXPECT_EQ(report.verdict, Verdict::suspect);
  EXPECT_EQ(first(report).ranks, ranks({last}));
  EXPECT_THAT(first(report).waiting, SizeIs(last));
  EXPECT_EQ(examine(job.readings(), {}, {10, 43}).verdict, Verdict::waits) << "it may be a long phase of computing";
  EXPECT_EQ(job.examine(43).verdict, Verdict::healthy);
}

// Rank 1 exchanges its fifth messages with ranks 0 and 2, of which rank 0 has done so, and rank 2 computes.
void exchange(SampleCalls& job, std::uint64_t received_from_1) {
  Said from_0 = receive(0, 7, "MPI_Irecv");
  Said from_2 = receive(2, 7, "MPI_Irecv");
  Said to_0 = send(0, 7, "MPI_Isend");
  for (Said* const message : {&from_0, &from_2, &to_0}) {
    message->record.number = 5;
    job.counts(1, *message, 5);
  }
  job.all_last(collective("MPI_Allreduce"), {1, 2});
  job.waits(1, "MPI_Waitall", CallKind::wait_all, {from_0, from_2, to_0});
  job.counts(0, send(1, 7), 5);
  job.counts(0, receive(1, 7), received_from_1);
  job.counts(2, send(1, 7), 4);
  job.facts[2] = kComputes;
}

TEST_P(Hang, is_not_laid_on_messages_that_have_come) {
  exchange(job, 5);
  const HangReport report = job.examine();
  EXPECT_EQ(report.verdict, Verdict::suspect);
  EXPECT_THAT(report.findings, SizeIs(1));
  EXPECT_EQ(first(report).ranks, ranks({2}));
  EXPECT_THAT(first(report).waiting, SizeIs(last));
}

TEST_P(Hang, is_laid_on_messages_that_have_not_come) {
  exchange(job, 4);
  EXPECT_EQ(job.examine().verdict, Verdict::hangs);
  EXPECT_EQ(first(job.examine()).ranks, ranks({0, 1}));
}

// Rank 1 has posted a receive from any source as well: either that one or the fifth from rank 0 has its message.
TEST_P(Hang, is_not_certain_of_messages_of_which_a_wildcard_may_have_taken_some) {
  exchange(job, 5);
  job.counts(1, receive(kAnyPeer, 7), 1);
  const HangReport report = job.examine();
  EXPECT_EQ(report.verdict, Verdict::suspect);
  EXPECT_EQ(first(report).ranks, ranks({2}));
  EXPECT_EQ(report.gaps, (std::vector<Gap>{{Gap::Cause::wildcards, Rank{1}}}));
  job.counts(0, send(1, 7), 6);
  EXPECT_TRUE(job.examine().gaps.empty()) << "there are messages enough for both";
}

TEST_P(Hang, is_certain_of_a_message_that_is_missing_whatever_a_wildcard_has_taken) {
  exchange(job, 5);
  job.counts(1, receive(kAnyPeer, 7), 1);
  job.counts(0, send(1, 7), 4);
  EXPECT_EQ(job.examine().verdict, Verdict::hangs);
  EXPECT_EQ(first(job.examine()).ranks, ranks({0, 1}));
}

// Rank 1 waits for its synchronous send to rank 0, which may have taken it from any source, and for rank 2.
TEST_P(Hang, is_not_certain_of_a_send_that_a_wildcard_may_have_taken) {
  job.did(0, receive(kAnyPeer, 7));
  job.all_last(collective("MPI_Barrier"), {1, 2});
  job.waits(1, "MPI_Waitall", CallKind::wait_all, {send(0, 7, "MPI_Issend"), receive(2, 9, "MPI_Irecv")});
  job.facts[2] = kComputes;
  const HangReport report = job.examine();
  EXPECT_EQ(report.verdict, Verdict::suspect);
  EXPECT_EQ(first(report).ranks, ranks({2}));
  EXPECT_EQ(first(report).certainty, Certainty::likely);
  SampleCalls other(GetParam());
  other.did(0, receive(kAnyPeer, 7));
  other.all_last(collective("MPI_Barrier"), {1});
  other.lasts(1, send(0, 7));
  EXPECT_EQ(other.examine().verdict, Verdict::hangs) << "it is in nothing else: nobody has taken it";
}

// A receive from any source among others may be complete.
TEST_P(Hang, is_not_certain_of_a_wildcard_that_may_have_its_message) {
  job.did(2, send(0, 7, "MPI_Send"));
  job.waits(0, "MPI_Waitall", CallKind::wait_all, {receive(kAnyPeer, 7, "MPI_Irecv"), receive(1, 8, "MPI_Irecv")});
  job.all_last(receive(0, 9), {0, 1});
  job.lasts(1, collective("MPI_Barrier"));
  const HangReport report = job.examine();
  EXPECT_EQ(report.ranks[0].needs.size(), 2U);
  EXPECT_EQ(report.needs[report.ranks[0].needs[0]].certainty, Certainty::unknown);
  EXPECT_EQ(report.needs[report.ranks[0].needs[1]].certainty, Certainty::certain);
  EXPECT_EQ(report.verdict, Verdict::hangs);
  EXPECT_EQ(first(report).ranks, ranks({0, 1})) << "the circle is one of what is certain";
}

TEST_P(Hang, is_laid_on_a_message_that_was_begun_by_one_who_does_not_go_on_with_it) {
  Said message = receive(2, 7);
  message.record.number = 1;
  job.lasts(1, message);
  job.begins(2, send(1, 7, "MPI_Isend"));
  EXPECT_EQ(job.examine().verdict, Verdict::suspect);
  EXPECT_EQ(first(job.examine()).ranks, ranks({2}));
  EXPECT_EQ(need_of(job.examine()).reason, Reason::message_not_progressed);
  EXPECT_EQ(need_of(job.examine()).theirs->name, "MPI_Isend");
  job.waits(2, "MPI_Waitall", CallKind::wait_all, {receive(3, 1, "MPI_Irecv")});
  EXPECT_EQ(job.examine().ranks[1].needs, std::vector<std::size_t>{}) << "MPI goes on with it";
}

TEST_P(Hang, by_a_dead_rank) {
  job.all_last(collective("MPI_Barrier"), {3});
  job.facts[3] = kDead;
  const HangReport report = job.examine();
  EXPECT_EQ(report.verdict, Verdict::hangs);
  EXPECT_EQ(first(report).ranks, ranks({3}));
  EXPECT_EQ(first(report).cause, Cause::dead);
  EXPECT_EQ(need_of(report).reason, Reason::collective_not_begun);
}

TEST_P(Hang, by_a_wildcard_that_took_another_ones_message) {
  // Rank 0 took from any source what it then waits for from rank 2; what it should have taken it has not asked for.
  job.did(2, send(0, 7, "MPI_Send"));
  job.did(0, receive(kAnyPeer, 7));
  job.all_last(collective("MPI_Barrier"), {0});
  job.lasts(0, receive(2, 7));
  const HangReport report = job.examine();
  EXPECT_EQ(report.verdict, Verdict::hangs);
  EXPECT_EQ(need_of(report, 0).reason, Reason::message_taken_by_wildcard);
}

TEST_P(Hang, is_not_laid_on_a_wildcard_that_took_no_message_too_many) {
  job.did(2, send(0, 7, "MPI_Send"));
  job.did(0, receive(2, 7));
  job.did(0, receive(kAnyPeer, 7));
  job.all_last(collective("MPI_Barrier"), {0});
  job.lasts(0, receive(2, 7));
  EXPECT_EQ(need_of(job.examine(), 0).reason, Reason::message_not_sent_again);
}

TEST_P(Hang, by_a_wait_for_the_wrong_request) {
  // Rank 0 should wait for its receive from rank 1, and waits for the one of the next round from rank 2.
  job.begins(0, receive(1, 1, "MPI_Irecv"));
  job.waits(0, "MPI_Wait", CallKind::wait_all, {receive(2, 2, "MPI_Irecv")});
  job.all_last(collective("MPI_Barrier"), {0});
  const HangReport report = job.examine();
  EXPECT_EQ(report.verdict, Verdict::hangs);
  EXPECT_THAT(circle_of(first(report)), ElementsAre(0, 2));
  EXPECT_EQ(need_of(report, 0).call.name, "MPI_Irecv");
  EXPECT_EQ(need_of(report, 0).call.tag, 2);
}

TEST_P(Hang, by_ranks_that_all_receive_from_anybody) {
  job.all_last(receive(kAnyPeer, kAnyTag));
  const HangReport report = job.examine();
  EXPECT_EQ(report.verdict, Verdict::hangs);
  EXPECT_THAT(circle_of(first(report)), ElementsAre(0, 1));
  EXPECT_EQ(need_of(report, 0).reason, Reason::message_from_any);
}

TEST_P(Hang, by_a_rank_that_waits_for_itself) {
  job.lasts(2, receive(2, 1));
  EXPECT_THAT(circle_of(first(job.examine())), ElementsAre(2));
}

TEST_P(Hang, is_none_while_one_of_those_that_may_send_goes_on) {
  job.lasts(0, receive(kAnyPeer, 7));
  job.lasts(1, receive(0, 7));
  for (std::uint32_t rank = 2; rank < GetParam(); ++rank) job.facts[rank] = kComputes;
  EXPECT_EQ(job.examine().verdict, Verdict::suspect) << "for who computes may send";
  for (std::uint32_t rank = 2; rank < GetParam(); ++rank) job.facts[rank] = kDead;
  EXPECT_EQ(job.examine().verdict, Verdict::hangs);
}

TEST_P(Hang, needs_all_of_a_waitall_and_one_of_a_waitany) {
  const std::vector<Said> requests{receive(2, 1, "MPI_Irecv"), receive(3, 1, "MPI_Irecv")};
  job.facts[3] = kDead;
  job.waits(0, "MPI_Waitall", CallKind::wait_all, requests);
  EXPECT_EQ(job.examine().verdict, Verdict::hangs);
  EXPECT_EQ(first(job.examine()).ranks, ranks({3}));

  SampleCalls other(GetParam());
  other.facts[3] = kDead;
  other.facts[2] = kComputes;
  other.waits(0, "MPI_Waitany", CallKind::wait_any, requests);
  EXPECT_EQ(other.examine().verdict, Verdict::suspect) << "rank 2 may still send";
  other.lasts(2, collective("MPI_Barrier"));
  other.facts[2] = kStopped;
  EXPECT_EQ(other.examine().verdict, Verdict::hangs);
}

TEST_P(Hang, of_a_non_blocking_collective_is_seen_in_its_wait) {
  for (std::uint32_t rank = 0; rank < last; ++rank)
    job.waits(rank, "MPI_Wait", CallKind::wait_all, {collective("MPI_Ibarrier")});
  job.facts[last] = kDead;
  EXPECT_EQ(first(job.examine()).ranks, ranks({last}));
}

TEST_P(Hang, of_ranks_that_ask_in_vain_is_seen_through_their_requests) {
  for (const std::uint32_t rank : {0U, 1U}) {
    const auto other = static_cast<std::int32_t>(1 - rank);
    Said test{"MPI_Test", {}};
    test.record.kind = CallKind::test;
    test.record.number = 70'000;
    job.did(rank, test, 0);
    job.of(rank).past[(job.of(rank).calls - 1) % CallFile::kPast].began -= 30'000'000'000;
    job.begins(rank, receive(other, 1, "MPI_Irecv"), 1);
  }
  std::vector<RankReading> readings;
  for (std::uint32_t rank = 0; rank < GetParam(); ++rank) {
    Moment before = moment_of(job.of(rank));
    before.vain = before.vain > 0 ? before.vain - 9'000 : 0;
    readings.push_back({condense(job.of(rank), before), kComputes, job.now()});
  }
  const HangReport report = examine(readings, {}, {10, 10});
  EXPECT_EQ(report.ranks[0].doing, Doing::polls);
  EXPECT_EQ(report.verdict, Verdict::hangs);
  EXPECT_EQ(first(report).ranks, ranks({0, 1}));
  EXPECT_EQ(report.ranks[0].polled.at(0).name, "MPI_Irecv");
}

// As of an application that asks in turn after several requests, so that no test is in vain twice in a row.
TEST_P(Hang, of_ranks_that_ask_in_vain_is_seen_though_they_make_calls) {
  std::vector<Moment> before;
  for (std::uint32_t rank = 0; rank < GetParam(); ++rank) {
    before.push_back(moment_of(job.of(rank)));
    Said test{"MPI_Test", {}};
    test.record.kind = CallKind::test;
    test.record.number = 1;
    for (const double ago : {30.0, 20.0, 10.0, 0.0}) job.did(rank, test, ago);
    job.begins(rank, receive(static_cast<std::int32_t>((rank + 1) % GetParam()), 1, "MPI_Irecv"), 1);
  }
  std::vector<RankReading> readings;
  for (std::uint32_t rank = 0; rank < GetParam(); ++rank)
    readings.push_back({condense(job.of(rank), before[rank]), kComputes, job.now()});
  const HangReport report = examine(readings, {}, {10, 10});
  EXPECT_EQ(report.verdict, Verdict::hangs);
  EXPECT_FALSE(report.ranks[0].progressed);
  EXPECT_NEAR(report.ranks[0].seconds, 30, 1);
}

// A rank that probes is inside MPI_Iprobe at one reading or the other.
TEST_P(Hang, of_a_rank_that_probes_in_vain_is_seen_through_what_it_probes_for) {
  job.did(0, iprobe(1, 7, 70'000), 0);
  job.of(0).past[1].began -= 30'000'000'000;
  job.lasts(0, iprobe(1, 7), 0);
  job.all_last(collective("MPI_Barrier"), {0});
  auto before = job.moments();
  before[0].vain -= 9'000;
  before[0].began[0] -= 200'000'000;  // it was inside another one
  const HangReport report = job.examine_since(before);
  EXPECT_EQ(report.ranks[0].doing, Doing::polls);
  EXPECT_NEAR(report.ranks[0].seconds, 30, 1);
  EXPECT_EQ(report.ranks[0].polled.at(0).peer, 1);
  EXPECT_EQ(report.ranks[0].polled.at(0).tag, 7);
  EXPECT_EQ(first(report).ranks, ranks({0, 1}));
  EXPECT_EQ(need_of(report, 0).reason, Reason::message_not_sent);
}

TEST_P(Hang, of_a_rank_that_probes_for_several_in_turn_is_seen_through_all_of_them) {
  const auto before = job.moments();
  for (int round = 0; round < 3; ++round)
    for (const std::int32_t peer : {1, 2}) job.did(0, iprobe(peer, 7), 30 - 10 * round);
  for (std::uint32_t rank = 1; rank < GetParam(); ++rank) job.facts[rank] = kComputes;
  const HangReport report = job.examine_since(before);
  EXPECT_THAT(report.ranks[0].polled, SizeIs(2));
  EXPECT_TRUE(report.ranks[0].any);
  EXPECT_EQ(report.verdict, Verdict::suspect);
  EXPECT_EQ(first(report).ranks, ranks({1, 2})) << "either may send to it";
}

TEST_P(Hang, of_a_collective_that_a_rank_has_begun_is_laid_on_that_rank_while_it_computes) {
  const Said reduce = collective("MPI_Iallreduce");
  for (std::uint32_t rank = 0; rank < last; ++rank) job.waits(rank, "MPI_Wait", CallKind::wait_all, {reduce});
  job.begins(last, reduce);
  job.facts[last] = kComputes;
  const HangReport report = job.examine();
  EXPECT_EQ(report.verdict, Verdict::suspect);
  EXPECT_EQ(first(report).cause, Cause::computes);
  EXPECT_EQ(first(report).certainty, Certainty::likely);
  EXPECT_EQ(first(report).ranks, ranks({last}));
  EXPECT_EQ(need_of(report).reason, Reason::collective_not_progressed);
  job.lasts(last, receive(0, 1));
  EXPECT_EQ(first(job.examine()).ranks, ranks({0})) << "in MPI it goes on with the collective";
}

TEST_P(Hang, by_a_head_that_is_stopped_is_laid_on_it_and_not_on_those_who_wait) {
  job.has_heads(2);
  for (std::uint32_t rank = 0; rank < GetParam(); ++rank) job.in_cairn(rank, CairnCall::snapshot, 5);
  job.heads[1] = kStopped;
  const HangReport report = job.examine();
  EXPECT_EQ(report.verdict, Verdict::hangs);
  EXPECT_THAT(report.findings, SizeIs(1));
  EXPECT_EQ(first(report).cause, Cause::stopped);
  EXPECT_THAT(first(report).ranks, IsEmpty());
  EXPECT_EQ(first(report).heads, std::vector<NodeId>{NodeId{1}});
  EXPECT_THAT(first(report).waiting, SizeIs(GetParam()));
  EXPECT_EQ(need_of(report).reason, Reason::head_halted);
}

TEST_P(Hang, by_a_snapshot_that_a_rank_leaves_out_is_laid_on_that_rank) {
  job.has_heads(2);
  for (std::uint32_t rank = 0; rank < GetParam(); ++rank)
    job.in_cairn(rank, CairnCall::snapshot, rank == last ? 4 : 5, rank == last ? 0 : kLong);
  job.facts[last] = kComputes;
  const HangReport report = job.examine();
  EXPECT_EQ(first(report).ranks, ranks({last}));
  EXPECT_EQ(need_of(report).reason, Reason::collective_not_begun);
  EXPECT_EQ(need_of(report).call.name, "snapshot()");
  const auto before = job.moments();
  job.in_cairn(last, CairnCall::snapshot, 5, 0);
  EXPECT_TRUE(job.examine_since(before).ranks[last].progressed);
}

TEST_P(Hang, is_none_of_a_waitany_that_has_its_message) {
  job.waits(0, "MPI_Waitany", CallKind::wait_any, {receive(2, 1, "MPI_Irecv"), receive(1, 1, "MPI_Irecv")});
  job.lasts(2, receive(0, 1));
  job.lasts(1, send(0, 1));
  EXPECT_EQ(job.examine().verdict, Verdict::suspect);
  EXPECT_EQ(first(job.examine()).ranks, ranks({0}));
  EXPECT_EQ(first(job.examine()).cause, Cause::in_call);
  EXPECT_EQ(first(job.examine()).call->name, "MPI_Waitany");
  EXPECT_NEAR(first(job.examine()).since_seconds, kLong, 1);
  SampleCalls other(GetParam());
  other.waits(0, "MPI_Waitany", CallKind::wait_any, {receive(kNoPeer, 1, "MPI_Irecv"), receive(1, 1, "MPI_Irecv")});
  other.lasts(1, receive(0, 1));
  EXPECT_EQ(other.examine().verdict, Verdict::suspect);
}

TEST_P(Hang, is_none_while_another_thread_of_the_rank_goes_on) {
  job.lasts(0, receive(1, 1));
  job.lasts(1, receive(0, 1));
  EXPECT_EQ(job.examine().verdict, Verdict::hangs);
  job.of(0).lasting[5] = job.of(0).lasting[0];
  job.of(0).lasting[5].peer = 2;
  EXPECT_EQ(job.examine().verdict, Verdict::suspect) << "rank 2 may send to the other thread, which then goes on";
  job.lasts(2, receive(0, 1));
  EXPECT_EQ(job.examine().verdict, Verdict::hangs);
}

TEST_P(Hang, by_a_rank_that_ends_while_others_wait_for_it) {
  job.all_last(receive(2, 7), {2});
  job.lasts(2, finalize());
  const HangReport report = job.examine();
  EXPECT_EQ(report.verdict, Verdict::hangs);
  EXPECT_EQ(first(report).ranks, ranks({0, 2}));
  EXPECT_THAT(first(report).waiting, SizeIs(GetParam()));
  EXPECT_EQ(need_of(report, 0).reason, Reason::message_not_sent);
  EXPECT_EQ(need_of(report, 2).reason, Reason::collective_not_begun);
  EXPECT_EQ(need_of(report, 2).call.name, "MPI_Finalize");
  EXPECT_THAT(need_of(report, 2).ranks, SizeIs(last));
}

TEST_P(Hang, by_a_rank_for_which_others_wait_at_the_end) {
  job.all_last(finalize(), {2});
  job.facts[2] = kComputes;
  EXPECT_EQ(job.examine().verdict, Verdict::suspect);
  EXPECT_EQ(first(job.examine()).ranks, ranks({2}));
  EXPECT_THAT(first(job.examine()).waiting, SizeIs(last));
  EXPECT_EQ(first(job.examine()).cause, Cause::computes);
  EXPECT_EQ(need_of(job.examine()).reason, Reason::collective_not_begun);
  job.lasts(2, finalize());
  job.facts[2] = kStopped;
  EXPECT_EQ(job.examine().verdict, Verdict::hangs);
  EXPECT_EQ(need_of(job.examine()).reason, Reason::collective_halted);
}

TEST_P(Hang, by_ranks_at_the_end_is_suspected_of_those_that_were_not_seen) {
  job.all_last(finalize(), {2});
  job.lose(2);
  EXPECT_EQ(job.examine().verdict, Verdict::suspect);
  EXPECT_EQ(need_of(job.examine()).reason, Reason::collective_maybe_not_begun);
}

TEST_P(Hang, names_the_one_for_whom_most_wait_first) {
  // Rank 3 is dead and one waits for it; the others wait for rank 2, who is stopped.
  job.all_last(receive(2, 7), {1, 2, 3});
  job.lasts(1, receive(3, 7), 90);
  job.facts[2] = kStopped;
  job.facts[3] = kDead;
  const HangReport report = job.examine();
  EXPECT_THAT(report.findings, SizeIs(2));
  EXPECT_EQ(first(report).ranks, ranks({2}));
  EXPECT_THAT(first(report).waiting, SizeIs(last - 2));
}

TEST_P(Hang, counts_those_that_wait_by_others) {
  for (std::uint32_t rank = 0; rank < last; ++rank) job.lasts(rank, receive(static_cast<std::int32_t>(rank) + 1, 7));
  job.facts[last] = kStopped;
  EXPECT_THAT(first(job.examine()).waiting, SizeIs(last));
}

TEST_P(Hang, is_no_long_phase_of_computing) {
  for (std::uint32_t rank = 0; rank < GetParam(); ++rank) job.facts[rank] = kComputes;
  const HangReport report = job.examine();
  EXPECT_EQ(report.verdict, Verdict::healthy);
  for (const RankReport& rank : report.ranks) EXPECT_EQ(rank.doing, Doing::computes);
  EXPECT_THAT(report.findings, IsEmpty());
}

TEST_P(Hang, is_none_while_ranks_make_calls) {
  job.all_last(collective("MPI_Allreduce"), {last}, 0.01);
  std::vector<RankReading> readings;
  for (std::uint32_t rank = 0; rank < GetParam(); ++rank) {
    Moment before = moment_of(job.of(rank));
    if (rank == 1) --before.calls;
    readings.push_back({condense(job.of(rank), before), kComputes, job.now()});
  }
  const HangReport report = examine(readings, {}, {0, 0});
  EXPECT_EQ(report.verdict, Verdict::healthy);
  EXPECT_EQ(std::ranges::count_if(report.ranks, &RankReport::progressed), 1);
}

TEST_P(Hang, is_none_of_a_short_wait) {
  job.all_last(collective("MPI_Allreduce"), {last}, 9);
  job.facts[last] = kDead;
  const HangReport report = job.examine();
  EXPECT_EQ(report.verdict, Verdict::healthy);
  ASSERT_THAT(report.notes, SizeIs(1));
  EXPECT_EQ(report.notes[0].cause, Note::Cause::dead);
  EXPECT_EQ(report.notes[0].ranks, ranks({last}));
}

TEST_P(Hang, is_none_of_a_collective_or_a_message_that_is_under_way) {
  job.all_last(collective("MPI_Allreduce"));
  EXPECT_EQ(job.examine().verdict, Verdict::healthy);
  ASSERT_THAT(job.examine().notes, SizeIs(1));
  EXPECT_EQ(job.examine().notes[0].cause, Note::Cause::waits_for_mpi);
  SampleCalls other(GetParam());
  other.lasts(0, receive(1, 7));
  other.waits(1, "MPI_Waitall", CallKind::wait_all, {send(0, 7, "MPI_Isend")});
  EXPECT_EQ(other.examine().verdict, Verdict::healthy);
}

TEST_P(Hang, is_suspected_of_ranks_that_were_not_seen) {
  job.all_last(collective("MPI_Barrier"), {last});
  job.lose(last);
  const HangReport report = job.examine();
  EXPECT_EQ(report.verdict, Verdict::suspect);
  EXPECT_EQ(report.unseen, ranks({last}));
  EXPECT_EQ(first(report).cause, Cause::unseen);
  EXPECT_EQ(first(report).ranks, ranks({last}));
  ASSERT_THAT(report.notes, SizeIs(1));
  EXPECT_EQ(report.notes[0].cause, Note::Cause::unseen);
}

TEST_P(Hang, is_not_known_of_a_job_whose_processes_are_gone) {
  job.all_last(collective("MPI_Barrier"), {last});
  for (std::uint32_t rank = 0; rank < GetParam(); ++rank) job.facts[rank] = kDead;
  const HangReport report = job.examine();
  EXPECT_EQ(report.verdict, Verdict::over);
  EXPECT_EQ(first(report).ranks, ranks({last})) << "who was waited for is told all the same";
}

TEST_P(Hang, of_a_job_that_was_stopped_as_a_whole_is_told) {
  for (std::uint32_t rank = 0; rank < GetParam(); ++rank) job.facts[rank] = kStopped;
  EXPECT_EQ(job.examine().verdict, Verdict::hangs);
  EXPECT_EQ(first(job.examine()).cause, Cause::all_stopped);
}

TEST_P(Hang, is_looked_for_in_the_newest_file_of_each_rank) {
  SampleCalls old(GetParam());
  for (std::uint32_t rank = 0; rank < GetParam(); ++rank) old.of(rank).opened_at -= 1'000'000'000;
  old.all_last(collective("MPI_Barrier"), {1});
  std::vector<RankReading> readings;
  for (SampleCalls* files : {&job, &old, &job})
    for (std::uint32_t rank = 0; rank < GetParam(); ++rank)
      readings.push_back({condense(files->of(rank), moment_of(files->of(rank))), kComputes, job.now()});
  const HangReport report = examine(readings, {}, {10, 10});
  EXPECT_EQ(report.verdict, Verdict::healthy);
  for (const RankReport& rank : report.ranks) EXPECT_EQ(rank.doing, Doing::computes);
}

}  // namespace
}  // namespace cairn::test
