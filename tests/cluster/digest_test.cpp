// What the blocks of a job's shards have, by its configuration, and lives that go on from snapshots of another kind.
#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "format/hdf5/hdf5_file.hpp"
#include "format/manifest.hpp"
#include "format/shard.hpp"
#include "store/names.hpp"
#include "support/job.hpp"
#include "support/steps.hpp"

namespace cairn::test {
namespace {

std::string settings(const std::string& digest) {
  return "[levels]\nl1 = every 1\nl2 = every 1\nl3 = every 1\nl4 = every 1\n[erasure]\ngroup = 3\nparity = "
         "1\n[restart]\n"
         "at_end = continue\n[integrity]\ndigest = " +
         digest + "\n";
}

// Takes two snapshots, which reach every level, and is killed.
void take_two(Job& job) {
  job.run_well_and_die([](JobSession& session) {
    Steps steps(session);
    steps.restore();
    for (int i = 0; i < 2; ++i) {
      steps.advance();
      for (const LevelId level : kAllLevels) session.wait(level);
    }
  });
}

DirName newest(const MemoryStore& store) {
  const auto snapshots = names::snapshots_in(store.list(DirName{}).value());
  return names::directory_of(*std::ranges::max_element(snapshots));
}

BlockDigest digest_of(Job& job, std::uint32_t node, Rank rank) {
  const MemoryStore& store = job.node_store(node);
  return Shard::open(store, names::shard(newest(store), rank))->header().digest;
}

TEST(BlockDigests, are_crcs_in_node_stores_unless_more_is_asked_for_and_sha256_at_L4) {
  for (const std::string digest : {"crc32c", "sha256"}) {
    SCOPED_TRACE(digest);
    Job job({2, 2, 2}, settings(digest));
    take_two(job);
    EXPECT_EQ(digest_of(job, 0, {0}), digest == "crc32c" ? BlockDigest::crc32c : BlockDigest::sha256);
    const DirName dir = newest(job.global_store());
    const auto manifest = read_global_manifest(job.global_store(), dir, {});
    ASSERT_TRUE(manifest) << manifest.error().text();
    const FileName file = names::node_file(dir, {0});
    const auto whole = verify_node_shard(job.global_store(), file, manifest->shards[0], {});
    EXPECT_TRUE(whole) << whole.error().text();
  }
}

// A life that has changed [integrity] digest goes on from what the one before has left at any level, and takes
// snapshots of its own kind, from which the next goes on.
TEST(BlockDigests, of_either_kind_are_restored_whatever_is_asked_for_now) {
  const std::vector<std::vector<std::uint32_t>> losses{{}, {1}, {0, 1, 2}};
  for (const auto& lost : losses) {
    for (const std::string before : {"crc32c", "sha256"}) {
      SCOPED_TRACE(before + ", lost " + testing::PrintToString(lost));
      Job job({2, 2, 2}, settings(before));
      take_two(job);
      job.configure(settings(before == "crc32c" ? "sha256" : "crc32c"));
      for (const std::uint32_t node : lost) job.lose(node);
      job.run_well_and_die([](JobSession& session) {
        Steps steps(session);
        EXPECT_EQ(steps.restore(), 2U);
        steps.advance();
        for (const LevelId level : kAllLevels) session.wait(level);
      });
      EXPECT_EQ(digest_of(job, 0, {0}), before == "crc32c" ? BlockDigest::sha256 : BlockDigest::crc32c);
      job.lose(2);
      job.run_well_and_die([](JobSession& session) { EXPECT_EQ(Steps(session).restore(), 3U); });
    }
  }
}

// A snapshot of one kind stays at L1 only; the next life, of the other kind, raises it to L4 at its end.
TEST(BlockDigests, are_made_for_L4_when_an_older_snapshot_is_raised) {
  for (const std::string before : {"crc32c", "sha256"}) {
    SCOPED_TRACE(before);
    const std::string local =
        "[levels]\nl1 = every 1\nl2 = off\nl3 = off\nl4 = every 100\n[restart]\nat_end = continue\n";
    Job job({2, 2}, local + "[integrity]\ndigest = " + before + "\n");
    job.run_well_and_die([](JobSession& session) {
      Steps steps(session);
      steps.restore();
      steps.advance();
      session.wait(LevelId::local);
    });
    job.configure(local + "[integrity]\ndigest = " + (before == "crc32c" ? "sha256" : "crc32c") + "\n");
    job.run([](JobSession& session) { EXPECT_EQ(Steps(session).restore(), 1U); });
    for (const std::uint32_t node : {0U, 1U}) job.lose(node);
    job.run([](JobSession& session) { EXPECT_EQ(Steps(session).restore(), 1U); });
  }
}

}  // namespace
}  // namespace cairn::test
