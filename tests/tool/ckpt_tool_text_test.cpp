// What list, inspect and verify print for people. What they find is tested on their JSON.
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "run_tool.hpp"
#include "sample_job.hpp"

namespace cairn::test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST(CkptToolList, prints_levels_runs_and_nodes_that_were_not_found) {
  const SampleJob job;
  job.add_snapshot(42, kEveryLevel);
  job.add_run({{1}, kRun, RunRecord::Parent::fresh, {}, true, false});
  EXPECT_THAT(run_on(job, "list").out,
              AllOf(HasSubstr("L1 L2 L3 L4"), HasSubstr("01234567"), HasSubstr("started fresh")));
  job.lose_node(1);
  EXPECT_THAT(run_on(job, "list").out, AllOf(HasSubstr("L1 (3/4 nodes)"), HasSubstr("node 1 not found")));
}

TEST(CkptToolInspect, shows_what_ranks_nodes_and_files_have_in_common) {
  const SampleJob job;
  job.add_snapshot(42, kEveryLevel);
  const Outcome outcome = run_on(job, "inspect --version 42");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const std::string dir = job.global_snapshot(42).substr(job.global().size());
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("  ranks 0-7: plate float64[3000][4], 93.8 KiB each, part of [24000][4]\n"),
                                 HasSubstr("  ranks 0-7: step int32, 4 B each\n"),
                                 HasSubstr("  nodes 0-3  ranks 0-7 (2 on each)  " + job.local() + "/node*/heat\n"),
                                 HasSubstr(job.local() + "/node*" + dir + "/rank*.shard\n"),
                                 HasSubstr(job.global_snapshot(42) + "/node*.h5\n"), Not(HasSubstr("rank 5"))));
  job.lose_node(1);
  EXPECT_THAT(run_on(job, "inspect").out, testing::ContainsRegex("  node 1 +ranks 2-3 +not found\n"));
}

TEST(CkptToolInspect, shows_each_rank_node_and_file_on_request) {
  const SampleJob job;
  job.add_snapshot(42, kEveryLevel);
  const Outcome outcome = run_on(job, "inspect --version 42 --details");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("    rank 5 at [15000][0]\n"), HasSubstr("nodes 0-3"),
                                 HasSubstr(job.shard(5, 42)), HasSubstr(job.copy(5, 42)),
                                 HasSubstr(job.parity(2, 1, 42)), HasSubstr(job.global_snapshot(42) + "/node0003.h5")));
}

TEST(CkptToolVerifyText, prints_what_is_good_and_what_is_not) {
  const SampleJob job;
  job.add_snapshot(42, kEveryLevel);
  const Outcome whole = run_on(job, "verify");
  EXPECT_THAT(whole.out, AllOf(HasSubstr("all good"), HasSubstr("  recoverable: ranks 0-7 from L1\n"),
                               HasSubstr("  good: ranks 0-7: L1, L2, L4\n"), Not(HasSubstr("note:")),
                               HasSubstr("newest recoverable: version 42\n")));
  EXPECT_EQ(lines_in(run_on(job, "verify --quiet").out), 1U);

  flip_middle_byte(job.shard(3, 42));
  fs::remove(job.shard(4, 42));
  job.lose_node(3);
  EXPECT_THAT(run_on(job, "verify").out,
              AllOf(HasSubstr("  damaged: " + job.shard(3, 42) + " (rank 3, L1): block 0 of 1: CRC-32C is"),
                    HasSubstr("  missing: " + job.shard(4, 42) + " (rank 4, L1): "),
                    HasSubstr("  missing: node 3 (ranks 6-7): "), HasSubstr("ranks 0-2, 5 from L1, "),
                    HasSubstr("1 damaged, ")));
}

TEST(CkptToolVerifyText, prints_that_nothing_is_recoverable) {
  const SampleJob job;
  job.add_snapshot(42, kUpToErasure);
  for (const std::uint32_t node : {0, 1, 2}) job.lose_node(node);
  EXPECT_THAT(run_on(job, "verify").out, AllOf(HasSubstr("\n  not recoverable: "), HasSubstr("ranks 0, 1, 2, 3"),
                                               HasSubstr("; nothing is recoverable\n")));
}

}  // namespace
}  // namespace cairn::test
