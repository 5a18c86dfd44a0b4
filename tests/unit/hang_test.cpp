// What is said of jobs that hang in one way or another, and of those that do not. Each way with few ranks and with
// many.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "inspect/hang.hpp"
#include "support/sample_calls.hpp"

namespace cairn::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

constexpr ProcessFacts kComputes{ProcessFacts::State::runs, true};
constexpr ProcessFacts kStopped{ProcessFacts::State::stopped, false};
constexpr ProcessFacts kDead{ProcessFacts::State::dead, std::nullopt};

std::vector<Rank> ranks(std::initializer_list<std::uint32_t> numbers) {
  std::vector<Rank> all;
  for (const std::uint32_t number : numbers) all.push_back(Rank{number});
  return all;
}

// The first culprit; the test fails if there is none.
Culprit first(const HangReport& report) {
  EXPECT_THAT(report.culprits, Not(IsEmpty())) << report.summary;
  return report.culprits.empty() ? Culprit{} : report.culprits.front();
}

std::string text_of(const Culprit& culprit) {
  std::string text = culprit.what;
  for (const std::string& reason : culprit.reasons) text += "; " + reason;
  return text;
}

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
  const Culprit cycle = first(report);
  EXPECT_EQ(cycle.ranks, ranks({0, 1}));
  EXPECT_THAT(cycle.waiting, SizeIs(GetParam()));
  EXPECT_THAT(text_of(cycle),
              AllOf(HasSubstr("0 -> 1 -> 0"), HasSubstr("rank 0 does not receive the message with tag 7"),
                    HasSubstr("rank 1 has not begun MPI_Allreduce, the 812th collective on")));
}

TEST_P(Hang, by_a_send_that_was_left_out) {
  job.all_last(collective("MPI_Barrier"), {2});
  job.lasts(2, receive(3, 7));
  const Culprit cycle = first(job.examine());
  EXPECT_EQ(cycle.ranks, ranks({2, 3}));
  EXPECT_THAT(text_of(cycle),
              AllOf(HasSubstr("rank 3 has not sent a message with tag 7"),
                    HasSubstr("rank 2 is in MPI_Recv from rank 3 (tag 7, 4096 bytes, communicator 3f2a1c)")));
}

TEST_P(Hang, by_swapped_tags) {
  job.lasts(0, receive(1, 7));
  job.lasts(1, send(0, 8));
  const HangReport report = job.examine();
  EXPECT_EQ(report.verdict, Verdict::hangs);
  EXPECT_THAT(text_of(first(report)), AllOf(HasSubstr("rank 1 sends with tag 8 instead of tag 7"),
                                            HasSubstr("rank 0 receives with tag 7 instead of tag 8")));
}

TEST_P(Hang, by_swapped_tags_of_messages_that_were_sent_without_waiting) {
  for (const std::uint32_t rank : {0U, 1U}) {
    const auto other = static_cast<std::int32_t>(1 - rank);
    job.did(rank, send(other, 8, "MPI_Send"));
    job.lasts(rank, receive(other, 7));
  }
  EXPECT_THAT(text_of(first(job.examine())),
              HasSubstr("rank 1 has not sent such a message: the last one that it sent to rank 0 had tag 8"));
}

TEST_P(Hang, by_one_rank_that_is_not_in_a_collective) {
  job.all_last(collective("MPI_Allreduce"), {last});
  job.facts[last] = kComputes;
  const HangReport report = job.examine();
  EXPECT_EQ(report.verdict, Verdict::suspect);
  const Culprit culprit = first(report);
  EXPECT_EQ(culprit.ranks, ranks({last}));
  EXPECT_FALSE(culprit.certain);
  EXPECT_THAT(culprit.waiting, SizeIs(last));
  EXPECT_THAT(text_of(culprit),
              AllOf(HasSubstr("computes since 60 s, using processor time, the last call was MPI_Barrier"),
                    HasSubstr("has not begun MPI_Allreduce, the 812th")));
  EXPECT_THAT(report.summary, HasSubstr("ranks wait for rank " + std::to_string(last) + ", the longest for 42 s"));
}

TEST_P(Hang, by_a_collective_with_different_roots) {
  job.all_last(collective("MPI_Reduce", 0), {last});
  job.lasts(last, collective("MPI_Reduce", 1));
  const HangReport report = job.examine();
  EXPECT_EQ(report.verdict, Verdict::hangs);
  EXPECT_THAT(report.culprits, SizeIs(1));
  EXPECT_EQ(first(report).ranks, ranks({last}));
  EXPECT_THAT(report.notes, IsEmpty()) << "the culprit is told of already";
  EXPECT_THAT(text_of(first(report)), HasSubstr("has entered the 812th collective on communicator 3f2a1c as MPI_Reduce "
                                                "with root 1 instead of MPI_Reduce with root 0"));
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
  EXPECT_THAT(text_of(first(report)), HasSubstr("as MPI_Bcast with root"));
  EXPECT_THAT(first(report).waiting, SizeIs(last)) << "all but the culprit itself";
}

TEST_P(Hang, by_a_circle_of_synchronous_sends) {
  const auto count = static_cast<std::int32_t>(GetParam());
  for (std::int32_t rank = 0; rank < count; ++rank)
    job.lasts(static_cast<std::uint32_t>(rank), send((rank + 1) % count, 5));
  const HangReport report = job.examine();
  EXPECT_EQ(report.verdict, Verdict::hangs);
  EXPECT_THAT(report.culprits, SizeIs(1));
  EXPECT_THAT(first(report).ranks, SizeIs(GetParam()));
  EXPECT_THAT(text_of(first(report)),
              AllOf(HasSubstr("0 -> 1 -> 2 -> 3"), HasSubstr("rank 0 is in MPI_Ssend to rank 1")));
}

TEST_P(Hang, by_a_stopped_rank) {
  job.all_last(collective("MPI_Allreduce"), {2});
  job.facts[2] = kStopped;
  const HangReport report = job.examine();
  EXPECT_EQ(report.verdict, Verdict::hangs);
  EXPECT_EQ(first(report).ranks, ranks({2}));
  EXPECT_THAT(text_of(first(report)),
              AllOf(HasSubstr("rank 2 (process 4002 on node17) is stopped"), HasSubstr("kill -CONT 4002")));
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
  EXPECT_EQ(job.examine(43).verdict, Verdict::healthy) << "it may be a long phase of computing";
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
  EXPECT_EQ(report.verdict, Verdict::suspect) << text_of(first(report));
  EXPECT_THAT(report.culprits, SizeIs(1));
  EXPECT_EQ(first(report).ranks, ranks({2}));
  EXPECT_THAT(first(report).waiting, SizeIs(last));
}

TEST_P(Hang, of_a_rank_that_sends_and_receives_at_once_is_told_with_both_messages) {
  Said from_2 = receive(2, 8, "MPI_Sendrecv");
  from_2.record.bytes = 0;
  job.waits(0, "MPI_Sendrecv", CallKind::wait_all, {from_2, send(1, 7, "MPI_Sendrecv")});
  EXPECT_EQ(job.examine().ranks[0].what,
            "in MPI_Sendrecv from rank 2 (tag 8, communicator 3f2a1c) and to rank 1 (tag 7, 4096 bytes, communicator "
            "3f2a1c)");
}

TEST_P(Hang, is_laid_on_messages_that_have_not_come) {
  exchange(job, 4);
  EXPECT_EQ(job.examine().verdict, Verdict::hangs);
  EXPECT_EQ(first(job.examine()).ranks, ranks({0, 1}));
}

TEST_P(Hang, is_laid_on_messages_of_which_a_wildcard_may_have_taken_some) {
  exchange(job, 5);
  job.counts(1, receive(kAnyPeer, 7), 1);
  EXPECT_EQ(job.examine().verdict, Verdict::hangs);
}

TEST_P(Hang, is_laid_on_a_message_that_was_begun_by_one_who_does_not_go_on_with_it) {
  Said message = receive(2, 7);
  message.record.number = 1;
  job.lasts(1, message);
  job.begins(2, send(1, 7, "MPI_Isend"));
  EXPECT_EQ(job.examine().verdict, Verdict::suspect);
  EXPECT_EQ(first(job.examine()).ranks, ranks({2}));
  EXPECT_THAT(first(job.examine()).what, HasSubstr("has begun MPI_Isend, and does not go on with it"));
  job.waits(2, "MPI_Waitall", CallKind::wait_all, {receive(3, 1, "MPI_Irecv")});
  EXPECT_EQ(job.examine().ranks[1].needs, std::vector<std::size_t>{}) << "MPI goes on with it";
}

TEST_P(Hang, by_a_dead_rank) {
  job.all_last(collective("MPI_Barrier"), {3});
  job.facts[3] = kDead;
  const HangReport report = job.examine();
  EXPECT_EQ(report.verdict, Verdict::hangs);
  EXPECT_EQ(first(report).ranks, ranks({3}));
  EXPECT_THAT(text_of(first(report)), HasSubstr("is dead: its process is gone, and has not begun MPI_Barrier"));
}

TEST_P(Hang, by_a_wildcard_that_took_another_ones_message) {
  // Rank 0 took from any source what it then waits for from rank 2; what it should have taken it has not asked for.
  job.did(2, send(0, 7, "MPI_Send"));
  job.did(0, receive(kAnyPeer, 7));
  job.all_last(collective("MPI_Barrier"), {0});
  job.lasts(0, receive(2, 7));
  const HangReport report = job.examine();
  EXPECT_EQ(report.verdict, Verdict::hangs);
  EXPECT_THAT(
      text_of(first(report)),
      HasSubstr("rank 2 has sent such a message: an earlier receive of rank 0 from any source may have taken it"));
}

TEST_P(Hang, is_not_laid_on_a_wildcard_that_took_no_message_too_many) {
  job.did(2, send(0, 7, "MPI_Send"));
  job.did(0, receive(2, 7));
  job.did(0, receive(kAnyPeer, 7));
  job.all_last(collective("MPI_Barrier"), {0});
  job.lasts(0, receive(2, 7));
  EXPECT_THAT(text_of(first(job.examine())),
              AllOf(HasSubstr("rank 2 has not sent another message with tag 7"), Not(HasSubstr("any source"))));
}

TEST_P(Hang, by_a_wait_for_the_wrong_request) {
  // Rank 0 should wait for its receive from rank 1, and waits for the one of the next round from rank 2.
  job.begins(0, receive(1, 1, "MPI_Irecv"));
  job.waits(0, "MPI_Wait", CallKind::wait_all, {receive(2, 2, "MPI_Irecv")});
  job.all_last(collective("MPI_Barrier"), {0});
  const HangReport report = job.examine();
  EXPECT_EQ(report.verdict, Verdict::hangs);
  EXPECT_THAT(text_of(first(report)),
              AllOf(HasSubstr("rank 0 is in MPI_Wait for MPI_Irecv from rank 2 (tag 2, "), HasSubstr("0 -> 2 -> 0")));
}

TEST_P(Hang, by_ranks_that_all_receive_from_anybody) {
  job.all_last(receive(kAnyPeer, kAnyTag));
  const HangReport report = job.examine();
  EXPECT_EQ(report.verdict, Verdict::hangs);
  EXPECT_THAT(text_of(first(report)), HasSubstr("0 -> 1 -> 0"));
}

TEST_P(Hang, by_a_rank_that_waits_for_itself) {
  job.lasts(2, receive(2, 1));
  EXPECT_THAT(text_of(first(job.examine())), HasSubstr("2 -> 2"));
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
  const HangReport report = examine(readings, {}, 10);
  EXPECT_EQ(report.ranks[0].doing, Doing::polls);
  EXPECT_EQ(report.verdict, Verdict::hangs);
  EXPECT_THAT(text_of(first(report)), HasSubstr("rank 0 is asking in vain (MPI_Test) for MPI_Irecv from rank 1"));
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
  const HangReport report = examine(readings, {}, 10);
  EXPECT_EQ(report.verdict, Verdict::hangs);
  EXPECT_FALSE(report.ranks[0].progressed);
  EXPECT_NEAR(report.ranks[0].seconds, 30, 1);
}

TEST_P(Hang, is_none_of_a_waitany_that_has_its_message) {
  job.waits(0, "MPI_Waitany", CallKind::wait_any, {receive(2, 1, "MPI_Irecv"), receive(1, 1, "MPI_Irecv")});
  job.lasts(2, receive(0, 1));
  job.lasts(1, send(0, 1));
  EXPECT_EQ(job.examine().verdict, Verdict::suspect);
  EXPECT_EQ(first(job.examine()).ranks, ranks({0}));
  EXPECT_THAT(first(job.examine()).what,
              HasSubstr("in MPI_Waitany since 42 s, and nobody that it waits for is missing"));
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
  EXPECT_THAT(text_of(first(report)),
              AllOf(HasSubstr("rank 2 has not sent a message with tag 7"),
                    HasSubstr(GetParam() == 4 ? "rank 2 is in MPI_Finalize; ranks 0-1, 3 have not begun MPI_Finalize"
                                              : "rank 2 is in MPI_Finalize; ranks 0-1, 3-31 have not begun")));
}

TEST_P(Hang, by_a_rank_for_which_others_wait_at_the_end) {
  job.all_last(finalize(), {2});
  job.facts[2] = kComputes;
  EXPECT_EQ(job.examine().verdict, Verdict::suspect);
  EXPECT_EQ(first(job.examine()).ranks, ranks({2}));
  EXPECT_THAT(first(job.examine()).waiting, SizeIs(last));
  EXPECT_THAT(first(job.examine()).what, AllOf(HasSubstr("rank 2 (process 4002 on node17) computes since"),
                                               HasSubstr(", and has not begun MPI_Finalize")));
  job.lasts(2, finalize());
  job.facts[2] = kStopped;
  EXPECT_EQ(job.examine().verdict, Verdict::hangs);
  EXPECT_THAT(first(job.examine()).what, HasSubstr(", and has begun MPI_Finalize, and does not go on"));
}

TEST_P(Hang, by_ranks_at_the_end_is_suspected_of_those_that_were_not_seen) {
  job.all_last(finalize(), {2});
  job.lose(2);
  EXPECT_EQ(job.examine().verdict, Verdict::suspect);
  EXPECT_THAT(first(job.examine()).what, HasSubstr(", and may not have begun MPI_Finalize"));
}

TEST_P(Hang, names_the_one_for_whom_most_wait_first) {
  // Rank 3 is dead and one waits for it; the others wait for rank 2, who is stopped.
  job.all_last(receive(2, 7), {1, 2, 3});
  job.lasts(1, receive(3, 7), 90);
  job.facts[2] = kStopped;
  job.facts[3] = kDead;
  const HangReport report = job.examine();
  EXPECT_THAT(report.culprits, SizeIs(2));
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
  EXPECT_EQ(report.summary, "healthy: all ranks compute outside MPI");
  EXPECT_THAT(report.culprits, IsEmpty());
}

TEST_P(Hang, is_none_while_ranks_make_calls) {
  job.all_last(collective("MPI_Allreduce"), {last}, 0.01);
  std::vector<RankReading> readings;
  for (std::uint32_t rank = 0; rank < GetParam(); ++rank) {
    Moment before = moment_of(job.of(rank));
    if (rank == 1) --before.calls;
    readings.push_back({condense(job.of(rank), before), kComputes, job.now()});
  }
  const HangReport report = examine(readings, {}, 0);
  EXPECT_EQ(report.verdict, Verdict::healthy);
  EXPECT_THAT(report.summary, HasSubstr("healthy: 1 of"));
}

TEST_P(Hang, is_none_of_a_short_wait) {
  job.all_last(collective("MPI_Allreduce"), {last}, 9);
  job.facts[last] = kDead;
  const HangReport report = job.examine();
  EXPECT_EQ(report.verdict, Verdict::healthy);
  EXPECT_THAT(report.notes, ElementsAre("rank " + std::to_string(last) + " is dead"));
}

TEST_P(Hang, is_none_of_a_collective_or_a_message_that_is_under_way) {
  job.all_last(collective("MPI_Allreduce"));
  EXPECT_EQ(job.examine().verdict, Verdict::healthy);
  EXPECT_THAT(job.examine().notes, ElementsAre(HasSubstr("up to MPI")));
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
  EXPECT_THAT(text_of(first(report)), HasSubstr("rank " + std::to_string(last) + " was not seen"));
  EXPECT_THAT(report.notes, ElementsAre(HasSubstr("--local")));
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
  EXPECT_EQ(first(job.examine()).what, "all ranks are stopped, by a signal or a debugger");
}

TEST_P(Hang, is_looked_for_in_the_newest_file_of_each_rank) {
  SampleCalls old(GetParam());
  for (std::uint32_t rank = 0; rank < GetParam(); ++rank) old.of(rank).opened_at -= 1'000'000'000;
  old.all_last(collective("MPI_Barrier"), {1});
  std::vector<RankReading> readings;
  for (SampleCalls* files : {&job, &old, &job})
    for (std::uint32_t rank = 0; rank < GetParam(); ++rank)
      readings.push_back({condense(files->of(rank), moment_of(files->of(rank))), kComputes, job.now()});
  EXPECT_EQ(examine(readings, {}, 10).summary, "healthy: all ranks compute outside MPI");
}

}  // namespace
}  // namespace cairn::test
