// What is found of jobs whose files of calls do not say everything: tables that were full, files of an older format.
// The right rank is blamed, or the finding says that it is not known; nothing is certain.
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

constexpr std::uint32_t kRanks = 4;
constexpr std::uint32_t kLast = kRanks - 1;
class HangGaps : public testing::Test {
 protected:
  [[nodiscard]] static Gap gap(Gap::Cause cause, std::uint32_t rank) { return {cause, Rank{rank}}; }

  // One finding, which is not certain.
  Finding expect_suspect(const std::vector<Rank>& culprits, const std::vector<Gap>& gaps) {
    HangReport report = job.examine();
    EXPECT_EQ(report.verdict, Verdict::suspect);
    EXPECT_EQ(report.gaps, gaps);
    EXPECT_THAT(report.findings, SizeIs(1));
    if (report.findings.empty()) return {.ranks = {}, .need = {}};
    EXPECT_EQ(report.findings[0].ranks, culprits);
    EXPECT_NE(report.findings[0].certainty, Certainty::certain);
    return report.findings[0];
  }
  // The rank has no place for the communicator of all ranks.
  void leave_out_communicator(std::uint32_t rank) {
    job.of(rank).comms[3] = {};
    job.of(rank).comms_left_out = 1;
  }
  // Not in its file, though the call that the rank is in waits for them.
  void leave_out_requests(std::uint32_t rank, std::uint64_t count) {
    job.of(rank).lasting[0].number = count;
    job.of(rank).requests_left_out = count;
  }

  SampleCalls job{kRanks};
};

// Rank 1 exchanges messages with ranks 0 and 2, of which rank 0 has done so and goes on to a collective, while rank 2
// computes.
void exchange(SampleCalls& job) {
  job.all_last(collective("MPI_Allreduce"), {1, 2});
  job.waits(1, "MPI_Waitall", CallKind::wait_all,
            {receive(0, 7, "MPI_Irecv"), receive(2, 7, "MPI_Irecv"), send(0, 7, "MPI_Isend")});
  job.facts[2] = kComputes;
}

TEST_F(HangGaps, of_a_rank_that_does_not_count_its_messages_make_no_circle) {
  job.stops_counting(1);
  exchange(job);
  EXPECT_THAT(expect_suspect(ranks({2}), {gap(Gap::Cause::message_counters, 1)}).waiting, SizeIs(kLast));
}

TEST_F(HangGaps, of_a_rank_that_does_not_count_what_others_wait_for_make_no_circle) {
  for (const std::uint32_t rank : {0U, 2U}) job.stops_counting(rank);
  exchange(job);
  const auto cause = Gap::Cause::message_counters;
  EXPECT_THAT(expect_suspect(ranks({2}), {gap(cause, 0), gap(cause, 2)}).waiting, SizeIs(kLast));
}

TEST_F(HangGaps, make_no_circle_certain) {
  job.stops_counting(0);
  job.lasts(0, receive(1, 7));
  job.lasts(1, receive(0, 7));
  job.all_last(collective("MPI_Barrier"), {0, 1});
  const Finding circle = expect_suspect(ranks({0, 1}), {gap(Gap::Cause::message_counters, 0)});
  EXPECT_THAT(circle.waiting, SizeIs(kRanks));
  EXPECT_EQ(circle.cause, Cause::circle);
  EXPECT_EQ(circle.certainty, Certainty::unknown);
  EXPECT_THAT(circle_of(circle), ElementsAre(0, 1));
}

TEST_F(HangGaps, leave_what_is_counted_certain) {
  job.counts(0, receive(1, 7), 4);
  job.counts(0, send(1, 7), 4);
  job.stops_counting(0);
  Said message = receive(0, 7);
  message.record.number = 5;
  job.lasts(1, message);
  job.all_last(collective("MPI_Barrier"), {1});
  EXPECT_EQ(job.examine().verdict, Verdict::hangs);
  EXPECT_EQ(job.examine().findings.at(0).ranks, ranks({0, 1}));
  EXPECT_THAT(job.examine().gaps, IsEmpty());
}

TEST_F(HangGaps, make_no_halted_rank_certain_alone) {
  for (const ProcessFacts& halted : {kDead, kStopped}) {
    job = SampleCalls(kRanks);
    job.stops_counting(0);
    job.lasts(0, receive(2, 7));
    job.facts[2] = halted;
    EXPECT_EQ(expect_suspect(ranks({2}), {gap(Gap::Cause::message_counters, 0)}).waiting, ranks({0}));
    job.lasts(1, receive(2, 7));
    const HangReport report = job.examine();
    EXPECT_EQ(report.verdict, Verdict::hangs);
    EXPECT_EQ(report.findings.at(0).waiting, ranks({1})) << "of rank 0 it is not known whether it waits";
  }
}

TEST_F(HangGaps, of_a_message_are_nothing_to_a_rank_that_waits_for_another_one_for_certain) {
  job.stops_counting(0);
  job.waits(0, "MPI_Waitall", CallKind::wait_all, {receive(1, 7, "MPI_Irecv")});
  job.begins(0, collective("MPI_Ibarrier"), 1);
  for (const std::uint32_t rank : {1U, kLast}) job.lasts(rank, collective("MPI_Barrier"));
  job.facts[2] = kDead;
  EXPECT_EQ(job.examine().verdict, Verdict::hangs);
  EXPECT_EQ(job.examine().findings.at(0).ranks, ranks({2}));
  EXPECT_EQ(job.examine().findings.at(0).waiting, ranks({0, 1, kLast}));
}

TEST_F(HangGaps, of_a_persistent_request_that_was_left_out_make_its_count_unknown) {
  job.counts(1, send(0, 7), 0);
  job.of(1).requests_left_out = 1;
  job.lasts(0, receive(1, 7));
  job.lasts(1, collective("MPI_Barrier"));
  expect_suspect(ranks({2, 3}), {gap(Gap::Cause::pending_requests, 1)});
}

TEST_F(HangGaps, of_requests_make_it_unknown_whether_a_message_that_was_begun_is_over) {
  job.waits(0, "MPI_Waitall", CallKind::wait_all, {receive(2, 7, "MPI_Irecv"), receive(1, 7, "MPI_Irecv")});
  job.counts(2, send(0, 7), 1);
  job.of(2).requests_left_out = 1;
  job.facts[2] = kDead;
  job.lasts(1, send(0, 7));
  expect_suspect(ranks({2}), {gap(Gap::Cause::pending_requests, 2)});
}

TEST_F(HangGaps, let_a_wait_for_any_of_some_requests_go_on) {
  job.facts[2] = kDead;
  job.waits(0, "MPI_Waitany", CallKind::wait_any, {receive(2, 1, "MPI_Irecv")});
  job.lasts(1, receive(0, 1));
  EXPECT_EQ(job.examine().verdict, Verdict::hangs);
  leave_out_requests(0, 3);
  EXPECT_EQ(expect_suspect(ranks({0}), {gap(Gap::Cause::pending_requests, 0)}).waiting, ranks({1}));
  job.of(0).requests_left_out = 0;
  expect_suspect(ranks({0}), {gap(Gap::Cause::other_requests, 0)});
}

// Rank 1 may wait for others, or for storage: nobody knows.
TEST_F(HangGaps, of_a_call_that_is_not_analysed_make_nothing_about_it_certain) {
  Said fence{"MPI_Win_fence", {}};
  fence.record.kind = CallKind::opaque;
  job.lasts(1, fence);
  job.lasts(0, receive(1, 7));
  job.all_last(collective("MPI_Barrier"), {0, 1});
  const Finding found = expect_suspect(ranks({1}), {gap(Gap::Cause::opaque_call, 1)});
  EXPECT_EQ(found.cause, Cause::unrecorded);
  EXPECT_EQ(found.waiting, ranks({0, 2, 3}));
  EXPECT_EQ(found.call->name, "MPI_Win_fence");
}

TEST_F(HangGaps, leave_a_wait_for_all_of_some_requests_certain) {
  job.facts[2] = kDead;
  job.waits(0, "MPI_Waitall", CallKind::wait_all, {receive(2, 1, "MPI_Irecv")});
  leave_out_requests(0, 3);
  EXPECT_EQ(job.examine().verdict, Verdict::hangs);
  EXPECT_EQ(job.examine().findings.at(0).ranks, ranks({2}));
}

TEST_F(HangGaps, of_all_requests_of_a_call_are_told_though_nobody_else_waits) {
  job.waits(1, "MPI_Waitall", CallKind::wait_all, {});
  leave_out_requests(1, 3);
  const Finding finding = expect_suspect(ranks({1}), {gap(Gap::Cause::pending_requests, 1)});
  EXPECT_EQ(finding.cause, Cause::unrecorded);
  EXPECT_EQ(finding.certainty, Certainty::unknown);
  EXPECT_EQ(finding.call->name, "MPI_Waitall");
  EXPECT_EQ(job.examine(43).verdict, Verdict::healthy);
  EXPECT_THAT(job.examine(43).gaps, IsEmpty());
}

TEST_F(HangGaps, of_threads_let_their_rank_go_on) {
  job.lasts(0, receive(1, 1));
  job.lasts(1, receive(0, 1));
  EXPECT_EQ(job.examine().verdict, Verdict::hangs);
  job.of(0).calls_left_out = 1;
  EXPECT_EQ(expect_suspect(ranks({0}), {gap(Gap::Cause::threads, 0)}).waiting, ranks({1}));
}

TEST_F(HangGaps, of_communicators_make_it_unknown_who_has_begun_a_collective) {
  job.all_last(collective("MPI_Allreduce"), {kLast});
  leave_out_communicator(kLast);
  job.facts[kLast] = kComputes;
  const Finding finding = expect_suspect(ranks({kLast}), {gap(Gap::Cause::communicators, kLast)});
  EXPECT_THAT(finding.waiting, SizeIs(kLast));
  EXPECT_EQ(finding.certainty, Certainty::unknown);
  EXPECT_EQ(need_of(job.examine()).reason, Reason::collective_maybe_not_begun);
  job.facts[kLast] = kDead;
  expect_suspect(ranks({kLast}), {gap(Gap::Cause::communicators, kLast)});
  job.lasts(kLast, collective("MPI_Allreduce"));
  job.of(kLast).comms[3] = {};
  job.facts[kLast] = kComputes;
  EXPECT_EQ(job.examine().verdict, Verdict::healthy) << "all are in it";
}

TEST_F(HangGaps, of_communicators_leave_a_rank_among_those_that_may_send) {
  leave_out_communicator(kLast);
  job.all_last(receive(kAnyPeer, 7), {kLast});
  job.facts[kLast] = kComputes;
  EXPECT_EQ(job.examine().verdict, Verdict::suspect);
  EXPECT_EQ(job.examine().findings.at(0).ranks, ranks({kLast}));
}

TEST_F(HangGaps, of_communicators_make_messages_on_them_unknown) {
  job.lasts(0, receive(1, 7));
  job.lasts(1, collective("MPI_Barrier"));
  job.all_last(collective("MPI_Barrier"), {0, 1});
  EXPECT_EQ(job.examine().verdict, Verdict::hangs);
  job.of(1).comms[3] = {};
  expect_suspect(ranks({0, 1}), {gap(Gap::Cause::no_communicator, 1)});
  job.of(1).comms_left_out = 1;
  expect_suspect(ranks({0, 1}), {gap(Gap::Cause::communicators, 1)});
}

}  // namespace
}  // namespace cairn::test
