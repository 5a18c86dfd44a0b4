// How a report on a job that hangs reads. Nothing else looks at its words.
#include <iterator>
#include <sstream>
#include <utility>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hang/text.hpp"
#include "hang/words.hpp"
#include "support/hang_cases.hpp"
#include "support/hang_facts.hpp"
#include "support/sample_calls.hpp"

namespace cairn::test {
namespace {

using namespace hang;  // NOLINT(google-build-using-namespace)
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

std::vector<std::string> first_texts(const HangReport& report) { return finding_texts(report, first(report)); }

TEST(HangText, puts_the_verdict_and_the_culprit_before_the_ranks) {
  SampleCalls job(32);
  job.all_last(collective("MPI_Allreduce"), {3});
  job.lasts(3, receive(7, 12));
  const std::string text = report_text("heat", job.examine());
  EXPECT_THAT(text, StartsWith("job heat hangs: 32 of 32 ranks wait for ranks 3, 7, the longest for 42 s\n"
                               "  ranks 3, 7 wait for each other: 3 -> 7 -> 3\n"));
  EXPECT_THAT(text, HasSubstr("rank 7 has not sent a message with tag 12"));
  EXPECT_THAT(text,
              HasSubstr("\n  ranks 0-2, 4-31: in MPI_Allreduce (the 812th collective on communicator 3f2a1c), for "
                        "42 s; waiting for rank 3\n"));
  EXPECT_THAT(text,
              HasSubstr("\n  rank 3: in MPI_Recv from rank 7 (tag 12, 4096 bytes, communicator 3f2a1c), for 42 s"));
}

TEST(HangText, says_what_a_rank_does_that_others_wait_for) {
  SampleCalls job(4);
  job.all_last(collective("MPI_Allreduce"), {3});
  job.facts[3] = kComputes;
  EXPECT_THAT(first_texts(job.examine()),
              ElementsAre("rank 3 (process 4003 on node17) has been computing, or in a call that Cairn does not "
                          "intercept, for 60 s",
                          "its last recorded call was MPI_Barrier",
                          "it has not begun MPI_Allreduce, the 812th collective on communicator 3f2a1c",
                          "ranks 0-2 wait for it, the longest for 42 s"));
}

TEST(HangText, says_how_a_stopped_process_goes_on) {
  SampleCalls job(4);
  job.all_last(collective("MPI_Allreduce"), {2});
  job.facts[2] = kStopped;
  EXPECT_THAT(
      first_texts(job.examine()),
      ElementsAre("rank 2 (process 4002 on node17) is stopped by a signal or a debugger", "kill -CONT 4002 resumes it",
                  "it has not begun MPI_Allreduce, the 812th collective on communicator 3f2a1c",
                  "ranks 0-1, 3 wait for it, the longest for 42 s"));
}

TEST(HangText, names_a_head_by_its_node) {
  SampleCalls job(4);
  job.has_heads(2);
  for (std::uint32_t rank = 0; rank < 4; ++rank) job.in_cairn(rank, CairnCall::snapshot, 5);
  job.heads[1] = kStopped;
  EXPECT_THAT(first_texts(job.examine()),
              ElementsAre("the head of node 1 (process 5001 on node17) is stopped by a signal or a debugger",
                          "kill -CONT 5001 resumes it", "it does not continue the work of snapshot()",
                          "ranks 0-3 wait for it, the longest for 42 s"));
  EXPECT_THAT(report_text("heat", job.examine()),
              StartsWith("job heat hangs: 4 of 4 ranks wait for the head of node 1, the longest for 42 s\n"));
}

TEST(HangText, names_the_call_that_opens_or_closes_a_snapshot) {
  for (const auto& [call, name] :
       {std::pair{CairnCall::open_snapshot, "open_snapshot()"}, std::pair{CairnCall::close, "close() of a snapshot"}}) {
    SampleCalls job(4);
    for (std::uint32_t rank = 0; rank < 4; ++rank) job.in_cairn(rank, call, rank == 2 ? 1 : 2, rank == 2 ? 0 : 42);
    job.facts[2] = kStopped;
    EXPECT_THAT(first_texts(job.examine()), Contains(fmt::format("it has not begun {} for the 2nd time", name)));
  }
}

TEST(HangText, counts_who_entered_a_collective_as_what) {
  SampleCalls job(4);
  job.all_last(collective("MPI_Reduce", 0), {3});
  job.lasts(3, collective("MPI_Reduce", 1));
  EXPECT_THAT(
      first_texts(job.examine()),
      ElementsAre("rank 3 (process 4003 on node17) entered the 812th collective on communicator 3f2a1c as "
                  "MPI_Reduce with root 1",
                  "3 ranks entered it as MPI_Reduce with root 0", "ranks 0-2 wait for it, the longest for 42 s"));
}

TEST(HangText, gives_the_reason_of_each_rank_of_a_circle) {
  SampleCalls job(4);
  job.lasts(0, receive(1, 7));
  job.lasts(1, send(0, 8));
  EXPECT_THAT(first_texts(job.examine()),
              ElementsAre("ranks 0-1 wait for each other: 0 -> 1 -> 0",
                          "rank 0 is in MPI_Recv from rank 1 (tag 7, 4096 bytes, communicator 3f2a1c); rank 1 is "
                          "sending with tag 8 instead of tag 7",
                          "rank 1 is in MPI_Ssend to rank 0 (tag 8, 4096 bytes, communicator 3f2a1c); rank 0 is "
                          "receiving with tag 7 instead of tag 8"));
}

TEST(HangText, names_both_messages_of_a_rank_that_sends_and_receives_at_once) {
  SampleCalls job(4);
  Said from_2 = receive(2, 8, "MPI_Sendrecv");
  from_2.record.bytes = 0;
  job.waits(0, "MPI_Sendrecv", CallKind::wait_all, {from_2, send(1, 7, "MPI_Sendrecv")});
  const HangReport report = job.examine();
  EXPECT_EQ(rank_text(report, report.ranks[0]),
            "in MPI_Sendrecv from rank 2 (tag 8, communicator 3f2a1c) and to rank 1 (tag 7, 4096 bytes, communicator "
            "3f2a1c)");
}

TEST(HangText, says_for_which_rank_it_gives_the_reason) {
  SampleCalls job(4);
  job.waits(0, "MPI_Waitall", CallKind::wait_all, {receive(1, 12, "MPI_Irecv"), receive(3, 13, "MPI_Irecv")});
  EXPECT_THAT(report_text("heat", job.examine()),
              HasSubstr("waiting for rank 1, which has not sent a message with tag 12, and for rank 3\n"));
}

TEST(HangText, calls_a_communicator_as_the_application_does) {
  SampleCalls job(4);
  job.all_last(collective("MPI_Allreduce"), {3});
  job.facts[3] = kComputes;
  const auto reason = [&] { return first_texts(job.examine()).at(2); };
  for (std::uint32_t rank = 0; rank < 4; ++rank) job.of(rank).session_comm = kWorld;
  EXPECT_EQ(reason(), "it has not begun MPI_Allreduce, the 812th collective on the session's communicator");
  job.names_world(1, "rows");
  EXPECT_EQ(reason(), "it has not begun MPI_Allreduce, the 812th collective on communicator \"rows\"");
  job.of(2).comms[4] = {kWorld + 1, 0, 4, 0};
  job.of(2).comm_names[4] = {'r', 'o', 'w', 's'};
  EXPECT_EQ(reason(), "it has not begun MPI_Allreduce, the 812th collective on communicator \"rows\" (3f2a1c)");
}

TEST(HangText, says_for_what_a_rank_polls) {
  SampleCalls job(4);
  job.did(0, iprobe(1, 7, 70'000), 0);
  job.facts[1] = kStopped;
  const HangReport report = job.examine();
  EXPECT_EQ(rank_text(report, report.ranks[0]),
            "polling with MPI_Iprobe for a message from rank 1 (tag 7, communicator 3f2a1c)");
}

TEST(HangText, says_which_call_of_cairn_a_rank_has_left_out) {
  SampleCalls job(4);
  for (std::uint32_t rank = 0; rank < 4; ++rank) job.in_cairn(rank, CairnCall::snapshot, rank == 3 ? 6 : 7, 0);
  for (std::uint32_t rank = 0; rank < 3; ++rank) job.in_cairn(rank, CairnCall::wait, 1);
  EXPECT_THAT(first_texts(job.examine()).at(2), "it has not begun snapshot() for the 7th time");
}

TEST(HangText, counts_the_ranks_that_wait) {
  SampleCalls job(4);
  job.lasts(0, receive(1, 7));
  job.facts[1] = kDead;
  EXPECT_EQ(summary_text(job.examine()), "hangs: 1 of 4 ranks waits for rank 1, the longest for 42 s");
  job.lasts(2, receive(1, 7));
  EXPECT_EQ(summary_text(job.examine()), "hangs: 2 of 4 ranks wait for rank 1, the longest for 42 s");
}

// That is no verdict yet: the rank may continue by itself.
TEST(HangText, says_what_the_awaited_rank_does_before_that_may_be_a_hang) {
  SampleCalls job(8);
  job.all_last(collective("MPI_Allreduce"), {5});
  const Patience patience{10, 600};
  const auto summary = [&] { return summary_text(examine(job.readings(), {}, patience)); };
  job.facts[5] = kComputes;
  EXPECT_EQ(summary(), "runs: 7 of 8 ranks wait for rank 5, which computes, the longest for 42 s");
  job.facts[5] = {ProcessFacts::State::waits_for_disk, false};
  EXPECT_THAT(summary(), HasSubstr("rank 5, which reads or writes a file (state D), the longest"));
  job.facts[5] = kIdles;
  EXPECT_THAT(summary(), HasSubstr("rank 5, which is idle, the longest"));
  CallRecord write;
  write.kind = CallKind::other;
  job.lasts(5, {"MPI_File_write", write});
  EXPECT_THAT(summary(), HasSubstr("rank 5, which is in MPI_File_write, the longest"));
  job.lose(5);
  EXPECT_THAT(summary(), HasSubstr("rank 5, of which no call file was read, the longest"));
}

TEST(HangText, names_the_table_that_was_full) {
  SampleCalls job(4);
  for (const std::uint32_t rank : {0U, 2U}) job.stops_counting(rank);
  job.lasts(0, receive(1, 12));
  job.lasts(2, receive(1, 12));
  EXPECT_THAT(note_texts(job.examine()),
              ElementsAre("the table of message counters of ranks 0, 2 was full (1024 entries): it is unknown whether "
                          "uncounted messages have arrived"));
}

TEST(HangText, is_short_about_ranks_that_make_progress) {
  SampleCalls job(4);
  for (std::uint32_t rank = 0; rank < 4; ++rank) job.lasts(rank, receive(static_cast<std::int32_t>(rank), 1), rank);
  HangReport report = job.examine();
  for (RankReport& rank : report.ranks) rank.progressed = true;
  EXPECT_THAT(report_text("heat", report), HasSubstr("  ranks 0-3: making progress, now in MPI_Recv\n"));
}

TEST(HangText, is_short_about_thousands_of_ranks) {
  SampleCalls job(2000);
  for (std::uint32_t rank = 0; rank < 2000; ++rank)
    job.lasts(rank, receive(static_cast<std::int32_t>((rank + 1) % 2000), 1));
  const std::string text = report_text("heat", job.examine());
  EXPECT_THAT(text, AllOf(HasSubstr("0 -> 1 -> 2"), HasSubstr("  ranks 0-1999: in MPI_Recv, for "),
                          HasSubstr("; waiting for others")));
  EXPECT_LT(text.size(), 4000U) << text;
}

TEST(HangText, of_a_job_that_is_well_is_a_line_and_the_ranks) {
  EXPECT_EQ(report_text("heat", SampleCalls(4).examine()),
            "job heat is healthy: all ranks compute, or are in a call that Cairn does not intercept\n\n"
            "  ranks 0-3: computing, or in a call that Cairn does not intercept, for 60 s\n");
}

std::size_t words_in(const std::string& sentence) {
  std::istringstream in(sentence);
  return static_cast<std::size_t>(std::distance(std::istream_iterator<std::string>(in), {}));
}

class HangTexts : public testing::TestWithParam<HangCase> {};
INSTANTIATE_TEST_SUITE_P(Cases, HangTexts, testing::ValuesIn(hang_cases()),
                         [](const auto& tested) { return tested.param.name; });

// The details of messages are in parentheses.
TEST_P(HangTexts, has_short_sentences) {
  const HangReport report = GetParam().examine();
  std::vector<std::string> sentences = note_texts(report);
  sentences.push_back(summary_text(report));
  for (const Finding& finding : report.findings)
    for (const std::string& text : finding_texts(report, finding)) sentences.push_back(text);
  for (const std::string& sentence : sentences) {
    std::istringstream parts(sentence);
    for (std::string part; std::getline(parts, part, ';');) EXPECT_LE(words_in(part), 25U) << part;
  }
}

}  // namespace
}  // namespace cairn::test
