// Files of calls that are sound, of another format, damaged or foreign.
#include <cstring>
#include <random>
#include <span>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "format/call_file.hpp"
#include "hang/text.hpp"
#include "store/memory/memory_store.hpp"
#include "store/names.hpp"
#include "support/facts.hpp"
#include "support/sample_calls.hpp"

namespace cairn::test {
namespace {

using namespace hang;  // NOLINT(google-build-using-namespace)

const FileName kName = names::calls(Rank{2});

class CallFileOnDisk : public testing::Test {
 protected:
  CallFileOnDisk() {
    job.all_last(collective("MPI_Allreduce"), {1, 2});
    job.lasts(1, send(0, 7));
    job.waits(2, "MPI_Waitall", CallKind::wait_all, {receive(0, 3, "MPI_Irecv"), send(1, 3, "MPI_Isend")});
    bytes.resize(sizeof(CallFile));
    std::memcpy(bytes.data(), &job.of(2), bytes.size());
  }

  Result<std::unique_ptr<CallFile>> read_back() {
    MemoryStore store;
    auto writer = store.create(kName, bytes.size(), "");
    EXPECT_TRUE((*writer)->write(0, bytes));
    EXPECT_TRUE((*writer)->commit(bytes.size(), false));
    return read_call_file(store, kName);
  }
  void put(std::size_t offset, std::uint32_t value) { std::memcpy(bytes.data() + offset, &value, sizeof(value)); }
  void expect_corrupt(test::Things things) {
    things.emplace_back("calls/rank000002.calls");
    EXPECT_THAT(read_back(), Fails(Code::corrupt, things));
  }

  SampleCalls job{4};
  Buffer bytes;
};

TEST_F(CallFileOnDisk, comes_back_as_it_was_written) {
  const auto file = read_back();
  ASSERT_TRUE(file) << file.error().text();
  EXPECT_EQ(std::memcmp(file->get(), &job.of(2), sizeof(CallFile)), 0);
  EXPECT_EQ(name_of(**file, (*file)->lasting[0]), "MPI_Waitall");
  EXPECT_EQ(host_of(**file), "node17");
}

TEST_F(CallFileOnDisk, of_a_newer_format_is_called_newer_whatever_its_length) {
  put(offsetof(CallFile, format), kCallFileFormat + 1);
  for (const std::size_t length : {sizeof(CallFile) + 4096, sizeof(CallFile), std::size_t{64}}) {
    bytes.resize(length);
    const auto file = read_back();
    ASSERT_FALSE(file);
    EXPECT_THAT(file, Fails(Code::newer_format, {"calls/rank000002.calls"}));
  }
}

// It did not say which messages it had not counted, nor what it had left out.
TEST_F(CallFileOnDisk, of_format_1_is_read_without_its_counts_of_messages) {
  job.counts(2, send(1, 3), 5);
  std::memcpy(bytes.data(), &job.of(2), bytes.size());
  put(offsetof(CallFile, format), 1);
  put(offsetof(CallFile, requests_left_out), 5);
  put(offsetof(CallFile, lasting) + 31 * sizeof(CallRecord) + offsetof(CallRecord, began), 1);
  bytes.resize(kCallFileBytes1);
  const auto file = read_back();
  ASSERT_TRUE(file) << file.error().text();
  EXPECT_EQ((*file)->comms_left_out, 5U);
  EXPECT_EQ((*file)->calls_left_out, 1U);
  EXPECT_EQ((*file)->lasting[0].number, 5U);
  EXPECT_EQ((*file)->comms[3].uncounted, 1U);
  EXPECT_TRUE(condense(**file, {}).sends.empty());
}

// Its names were shorter, and in another table.
TEST_F(CallFileOnDisk, of_format_2_is_read_with_its_names) {
  put(offsetof(CallFile, format), 2);
  std::strncpy(reinterpret_cast<char*>(bytes.data()) + offsetof(CallFile, old_names) +
                   job.of(2).lasting[0].call * std::size_t{32},
               "MPI_Old", 32);
  bytes.resize(kCallFileBytes2);
  const auto file = read_back();
  ASSERT_TRUE(file) << file.error().text();
  EXPECT_EQ(name_of(**file, (*file)->lasting[0]), "MPI_Old");
}

// It had one kind for all tests, and no names of communicators.
TEST_F(CallFileOnDisk, of_format_2_is_read_with_tests_of_all_requests_told_apart) {
  Said test{"MPI_Testall", {}};
  test.record.kind = CallKind::test;
  test.record.number = 5;
  job.did(2, test);
  test.name = "MPI_Testany";
  job.did(2, test);
  std::memcpy(bytes.data(), &job.of(2), bytes.size());
  put(offsetof(CallFile, format), 2);
  bytes.resize(kCallFileBytes2);
  const auto file = read_back();
  ASSERT_TRUE(file) << file.error().text();
  EXPECT_EQ((*file)->past[1].kind, CallKind::test_all);
  EXPECT_EQ((*file)->past[2].kind, CallKind::test);
  EXPECT_EQ((*file)->session_comm, 0U);
}

// It had no counts of snapshots that were opened and closed.
TEST_F(CallFileOnDisk, of_format_3_is_read_without_counts_of_open_snapshots) {
  job.in_cairn(2, CairnCall::snapshot, 5);
  job.in_cairn(2, CairnCall::close, 3);
  job.in_cairn(2, CairnCall::restore, 1);
  std::memcpy(bytes.data(), &job.of(2), bytes.size());
  put(offsetof(CallFile, format), 3);
  bytes.resize(kCallFileBytes3);
  const auto file = read_back();
  ASSERT_TRUE(file) << file.error().text();
  EXPECT_EQ(begun_of(**file), (CairnCounts{0, 1, 5, 0, 0, 0, 0}));
  EXPECT_EQ((*file)->cairn.call, CairnCall::restore);
}

TEST_F(CallFileOnDisk, of_format_1_makes_nothing_about_messages_certain) {
  // Rank 1 waits in MPI_Ssend for rank 0, which waits in MPI_Allreduce for it.
  const auto report_of = [&](std::uint32_t format, std::size_t length) {
    std::vector<RankReading> readings;
    for (const std::uint32_t rank : {0U, 1U, 3U}) {
      bytes.resize(length);
      std::memcpy(bytes.data(), &job.of(rank), length);
      put(offsetof(CallFile, format), format);
      MemoryStore store;
      const FileName name = names::calls(Rank{rank});
      auto writer = store.create(name, length, "");
      EXPECT_TRUE((*writer)->write(0, bytes) && (*writer)->commit(length, false));
      const auto file = read_call_file(store, name);
      EXPECT_TRUE(file);
      readings.push_back({condense(**file, moment_of(**file)), {}, job.now()});
    }
    return examine(std::move(readings), {}, {10, 10});
  };
  EXPECT_EQ(report_of(2, kCallFileBytes2).verdict, Verdict::hangs);
  const HangReport old = report_of(1, kCallFileBytes1);
  EXPECT_EQ(old.verdict, Verdict::suspect);
  EXPECT_EQ(old.gaps, (std::vector<Gap>{{Gap::Cause::older_format, Rank{0}}}));
}

TEST_F(CallFileOnDisk, that_is_short_or_long_or_foreign_is_damaged) {
  const Buffer good = bytes;
  bytes.resize(sizeof(CallFile) - 1);
  expect_corrupt({std::to_string(bytes.size()), std::to_string(sizeof(CallFile))});
  bytes.resize(3);
  expect_corrupt({});
  bytes.assign(sizeof(CallFile), std::byte{'x'});
  expect_corrupt({});
  bytes = good;
  bytes.resize(sizeof(CallFile) + 1);
  expect_corrupt({std::to_string(bytes.size()), std::to_string(sizeof(CallFile))});
}

TEST_F(CallFileOnDisk, with_a_number_out_of_range_is_damaged) {
  const Buffer good = bytes;
  const auto check = [&](std::size_t offset, std::uint32_t value, const test::Things& things) {
    bytes = good;
    put(offset, value);
    expect_corrupt(things);
  };
  check(offsetof(CallFile, format), 0, {"format", "0"});
  check(offsetof(CallFile, rank), 3, {"rank 3"});
  check(offsetof(CallFile, rank), 4, {"rank 4", "4"});
  check(offsetof(CallFile, ranks), 0x7fffffff, {"2147483647"});
  check(offsetof(CallFile, ranks), 2'097'153, {"2097153"});
  check(offsetof(CallFile, process), 0, {"process 0"});
  check(offsetof(CallFile, host), 0x0a0a0a0a, {"host"});
  check(offsetof(CallFile, names), 0x0a0a0a0a, {"name 0"});
  const std::size_t call = offsetof(CallFile, pending) + sizeof(CallRecord);
  check(call + offsetof(CallRecord, peer), 4, {"pending", "call 1"});
  check(call + offsetof(CallRecord, peer), 0xfffffff0, {"pending", "call 1"});
  check(call + offsetof(CallRecord, call), CallFile::kNames, {"pending", "call 1"});
  check(call + offsetof(CallRecord, waiter), 33, {"pending", "call 1"});
  check(offsetof(CallFile, lasting) + offsetof(CallRecord, kind), 11, {"lasting", "call 0"});
  check(offsetof(CallFile, comm_names) + 3 * 32, 0x0a0a0a0a, {"communicator"});
  check(offsetof(CallFile, messages) - sizeof(CallRecord) + offsetof(CallRecord, kind), 77, {"past", "call 4095"});
  check(offsetof(CallFile, cairn) + offsetof(CairnRecord, call), 7, {"call of Cairn"});
  check(offsetof(CallFile, head_rank), 4, {"head"});
  check(offsetof(CallFile, head_process), 0xffffffff, {"head"});
  check(offsetof(CallFile, messages) + offsetof(MessageRecord, kind), 4, {"messages"});
  check(offsetof(CallFile, messages) + offsetof(MessageRecord, peer), 4, {"messages"});
}

// No communicator need have as many ranks as the job, nor fewer: it may have been made with another program's.
TEST_F(CallFileOnDisk, of_a_communicator_of_any_size_is_told_of) {
  for (const std::uint32_t size : {0U, 1U, 5U, 0xffffffffU}) {
    for (const bool all_seen : {true, false}) {
      put(offsetof(CallFile, comms) + 3 * sizeof(CommRecord) + offsetof(CommRecord, size), size);
      const auto file = read_back();
      ASSERT_TRUE(file) << file.error().text();
      std::vector<RankReading> readings;
      for (const std::uint32_t rank : {0U, 3U})
        if (all_seen || rank == 3) readings.push_back({condense(job.of(rank), moment_of(job.of(rank))), {}, job.now()});
      readings.push_back({condense(**file, moment_of(job.of(2))), {}, job.now()});
      EXPECT_EQ(examine(std::move(readings), {}, {10, 10}).ranks.size(), 4U);
    }
  }
}

// The newest file says how many ranks the job has; what older ones of another size wait for is not looked up.
TEST_F(CallFileOnDisk, of_a_job_of_more_ranks_names_no_rank_that_is_not_there) {
  SampleCalls larger(9);
  larger.lasts(1, receive(8, 1));
  larger.of(1).opened_at -= 1'000'000'000;
  std::vector<RankReading> readings;
  readings.push_back({condense(larger.of(1), moment_of(larger.of(1))), {}, job.now()});
  readings.push_back({condense(job.of(3), moment_of(job.of(3))), {}, job.now()});
  const HangReport report = examine(std::move(readings), {}, {10, 10});
  EXPECT_EQ(report.ranks.size(), 4U);
  EXPECT_EQ(report.ranks[1].doing, Doing::unseen);
}

// Whatever a damaged file says that is taken as sound, something can be said about it.
TEST_F(CallFileOnDisk, with_flipped_bytes_is_damaged_or_told_of) {
  std::mt19937 random(17);
  const Buffer good = bytes;
  std::size_t taken = 0;
  for (int round = 0; round < 3000; ++round) {
    bytes = good;
    // Most of the file is empty places; half of the flips are in what comes before those.
    for (int flips = 0; flips < 1 + round % 3; ++flips) {
      const std::size_t among = random() % 2 == 0 ? bytes.size() : offsetof(CallFile, pending) + 256;
      bytes[random() % among] ^= static_cast<std::byte>(1U << random() % 8);
    }
    const auto file = read_back();
    if (!file) continue;
    ++taken;
    std::vector<RankReading> readings;
    for (const std::uint32_t rank : {0U, 1U, 3U})
      readings.push_back({condense(job.of(rank), moment_of(job.of(rank))), {}, job.now()});
    readings.push_back({condense(**file, moment_of(job.of(2))), {}, job.now()});
    EXPECT_FALSE(report_text("heat", examine(std::move(readings), {}, {10, 10})).empty());
  }
  EXPECT_GT(taken, 100U);
  EXPECT_LT(taken, 2900U);
}

}  // namespace
}  // namespace cairn::test
