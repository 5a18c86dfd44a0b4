// What is found of a job from the short form of its ranks' calls is what is found from their files.
#include "hang/short_form.hpp"

#include <gtest/gtest.h>

#include "hang/text.hpp"
#include "support/hang_cases.hpp"
#include "support/hang_facts.hpp"

namespace cairn::test {
namespace {

// As another head gets them.
std::vector<hang::RankReading> sent(const std::vector<hang::RankReading>& readings) {
  std::vector<hang::RankReading> got;
  for (const hang::RankReading& reading : readings) {
    auto read = hang::decode_reading(encode(reading));
    EXPECT_TRUE(read) << read.error().text();
    if (read) got.push_back(std::move(*read));
  }
  return got;
}

class ShortFormOfCases : public testing::TestWithParam<HangCase> {};
INSTANTIATE_TEST_SUITE_P(Cases, ShortFormOfCases, testing::ValuesIn(hang_cases()),
                         [](const auto& tested) { return tested.param.name; });

TEST_P(ShortFormOfCases, says_the_same_as_the_files) {
  SampleCalls job(4);
  GetParam().prepare(job);
  const auto readings = job.readings();
  const hang::HangReport whole = hang::examine(readings, {}, {10, 10});
  const hang::HangReport report = hang::examine(sent(readings), {}, {10, 10});
  EXPECT_EQ(report_text("heat", report), report_text("heat", whole));
  EXPECT_EQ(report.verdict, whole.verdict);
  ASSERT_EQ(report.findings.size(), whole.findings.size());
  for (std::size_t i = 0; i < report.findings.size(); ++i) {
    EXPECT_EQ(report.findings[i].cause, whole.findings[i].cause);
    EXPECT_EQ(report.findings[i].certainty, whole.findings[i].certainty);
    EXPECT_EQ(report.findings[i].ranks, whole.findings[i].ranks);
    EXPECT_EQ(report.findings[i].waiting, whole.findings[i].waiting);
  }
}

// A rank that has made as many calls as its file keeps, to as many neighbours as a grid in three dimensions has.
SampleCalls busy_job() {
  SampleCalls job(64);
  for (std::size_t call = 0; call < CallFile::kPast; ++call) {
    const auto peer = static_cast<std::int32_t>(1 + call % 26);
    job.did(0, call % 2 == 0 ? send(peer, 7) : receive(peer, 7));
  }
  job.all_last(collective("MPI_Allreduce"), {3});
  return job;
}

TEST(ShortForm, is_a_hundredth_of_the_file) {
  const SampleCalls job = busy_job();
  EXPECT_LT(encode(job.readings().front()).size(), sizeof(CallFile) / 100);
}

TEST(ShortForm, refuses_what_was_cut_or_lengthened) {
  const SampleCalls job = busy_job();
  Buffer bytes = encode(job.readings().front());
  for (std::size_t length = 0; length < bytes.size(); ++length)
    EXPECT_FALSE(hang::decode_reading(Bytes(bytes).first(length)));
  bytes.push_back({});
  EXPECT_FALSE(hang::decode_reading(bytes));
}

TEST(ShortForm, refuses_ranks_that_the_job_has_not) {
  const SampleCalls job = busy_job();
  hang::RankReading reading = job.readings().front();
  reading.calls.lasting.front().call.peer = 64;
  EXPECT_FALSE(hang::decode_reading(encode(reading)));
  reading = job.readings().front();
  reading.calls.rank.value = 64;
  EXPECT_FALSE(hang::decode_reading(encode(reading)));
}

// Rank 0 waits for a message, of which a counter is not there any more.
TEST(ShortForm, of_too_many_messages_leaves_open_what_was_counted) {
  SampleCalls job(4);
  job.lasts(0, receive(1, 7));
  auto readings = job.readings();
  EXPECT_EQ(first(hang::examine(sent(readings), {}, {10, 10})).certainty, hang::Certainty::likely);
  for (std::int32_t tag = 100; tag < 20'000; ++tag) readings[1].calls.sends[{kWorld, 2, tag}] = 1;
  EXPECT_LE(encode(readings[1]).size(), hang::kMostReadingBytes);
  const hang::HangReport report = hang::examine(sent(readings), {}, {10, 10});
  EXPECT_EQ(first(report).certainty, hang::Certainty::unknown);
  ASSERT_FALSE(report.gaps.empty());
  EXPECT_EQ(report.gaps.front().cause, hang::Gap::Cause::message_counters);
}

TEST(ShortForm, of_what_is_too_long_without_messages_is_nothing) {
  SampleCalls job(4);
  auto readings = job.readings();
  hang::Call request = *readings[1].calls.newest;
  for (std::uint64_t number = 0; number < 20'000; ++number) {
    request.number = number;
    readings[1].calls.pending.push_back(request);
  }
  EXPECT_TRUE(encode(readings[1]).empty());
}

}  // namespace
}  // namespace cairn::test
