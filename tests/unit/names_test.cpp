#include "store/names.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

namespace cairn {
namespace {

constexpr RunId kRun{0x00c0ffee00c0ffee};
constexpr std::uint32_t kLargest = std::numeric_limits<std::uint32_t>::max();

std::string without_directory(const FileName& name) { return name.path.substr(name.path.find('/') + 1); }

TEST(Names, are_those_of_the_design) {
  const DirName dir = names::snapshot(Version{42}, kRun);
  EXPECT_EQ(dir.path, "v00000042-00c0ffee00c0ffee");
  EXPECT_EQ(names::partial_snapshot(Version{42}, kRun).path, "v00000042-00c0ffee00c0ffee.partial");
  EXPECT_EQ(names::shard(dir, Rank{7}).path, dir.path + "/rank000007.shard");
  EXPECT_EQ(names::copy(dir, {NodeId{3}, Rank{10}, LayoutId{0xab}}).path,
            dir.path + "/node0003.rank000010.000000ab.copy");
  EXPECT_EQ(names::parity(dir, {2, 1, LayoutId{0xab}}).path, dir.path + "/parity.c02.p1.000000ab");
  EXPECT_EQ(names::manifest(dir).path, dir.path + "/manifest.json");
  EXPECT_EQ(names::node_file(dir, NodeId{0}).path, dir.path + "/node0000.h5");
  EXPECT_EQ(names::master_file(dir).path, dir.path + "/checkpoint.h5");
  EXPECT_EQ(names::run_record(Incarnation{3}, kRun).path, "run-00000003-00c0ffee00c0ffee.json");
  EXPECT_EQ(names::suspicion(0x1f).path, "suspicion-000000000000001f.json");
  EXPECT_EQ(names::node_directory(NodeId{3}), "node0003");
}

TEST(Names, parse_what_is_built_for_small_and_largest_numbers) {
  const DirName dir = names::snapshot(Version{1}, kRun);
  for (const std::uint32_t number : {0U, 1U, 42U, 99'999'999U, 100'000'000U, kLargest}) {
    const RunId run{number * 0x100000001ULL};
    const std::uint32_t counted = std::min(number, names::kLastNumber);
    const auto snapshot = names::parse_snapshot(names::snapshot(Version{counted}, run).path);
    EXPECT_EQ(snapshot, (names::SnapshotDir{Version{counted}, run, false}));
    const auto partial = names::parse_snapshot(names::partial_snapshot(Version{counted}, run).path);
    EXPECT_EQ(partial, (names::SnapshotDir{Version{counted}, run, true}));
    EXPECT_EQ(names::parse_shard(without_directory(names::shard(dir, Rank{number}))), Rank{number});
    const names::Copy copy{NodeId{number}, Rank{number}, LayoutId{number}};
    EXPECT_EQ(names::parse_copy(without_directory(names::copy(dir, copy))), copy);
    const names::Parity parity{number, number, LayoutId{number}};
    EXPECT_EQ(names::parse_parity(without_directory(names::parity(dir, parity))), parity);
    const auto record = names::parse_run_record(names::run_record(Incarnation{counted}, run).path);
    ASSERT_TRUE(record);
    EXPECT_EQ(record->incarnation, Incarnation{counted});
    EXPECT_EQ(record->run, run);
    EXPECT_EQ(names::parse_run(names::hex(run)), run);
    EXPECT_TRUE(names::is_suspicion(names::suspicion(run.value).path));
    EXPECT_FALSE(names::is_suspicion(names::suspicion(run.value).path + "~"));
    EXPECT_TRUE(names::is_health_of_a_run(names::health_of(Incarnation{number}).path));
    EXPECT_FALSE(names::is_health_of_a_run(names::health_of(Incarnation{number}).path + "~"));
  }
  EXPECT_FALSE(names::is_health_of_a_run(names::health().path));
}

// The number after it would begin again at 0.
TEST(Names, refuse_numbers_that_were_never_given) {
  for (const std::uint32_t number : {names::kLastNumber + 1, kLargest}) {
    EXPECT_FALSE(names::parse_snapshot(names::snapshot(Version{number}, kRun).path));
    EXPECT_FALSE(names::parse_run_record(names::run_record(Incarnation{number}, kRun).path));
  }
}

TEST(Names, refuse_every_snapshot_name_that_is_not_built) {
  for (const std::string bad :
       {"", "v", "v42-00c0ffee00c0ffee", "v00000042", "v00000042-", "v00000042-00c0ffee00c0ffe",
        "v00000042-00c0ffee00c0ffee0", "v00000042-00C0FFEE00C0FFEE", "v000000042-00c0ffee00c0ffee",
        "v99999999999-00c0ffee00c0ffee", "v00000042-00c0ffee00c0ffee.part",
        "v00000042-00c0ffee00c0ffee.partial.partial", "V00000042-00c0ffee00c0ffee", " v00000042-00c0ffee00c0ffee",
        "v+0000042-00c0ffee00c0ffee", "v00000042-0x0ffee00c0ffee0", "v00000042-00c0ffee00c0ffee/"}) {
    EXPECT_FALSE(names::parse_snapshot(bad)) << bad;
  }
}

TEST(Names, refuse_every_file_name_that_is_not_built) {
  for (const std::string bad : {"",
                                "rank7.shard",
                                "rank000007.shar",
                                "rank000007.shards",
                                "rank-00007.shard",
                                "rank0000007.shard",
                                "node0003.rank000010.copy",
                                "node0003.rank000010.000000AB.copy",
                                "node3.rank000010.000000ab.copy",
                                "node0003.rank000010.000000ab.copy~",
                                "parity.c2.p1.000000ab",
                                "parity.c02.p01.000000ab",
                                "parity.c02.p1.ab",
                                "parity.c02.p1.000000ab0",
                                "parity.c02.p.000000ab",
                                "run-3-00c0ffee00c0ffee.json",
                                "run-00000003-00c0ffee00c0ffee.jso",
                                "manifest.json",
                                ".",
                                "..",
                                "rank000007.shard/"}) {
    EXPECT_FALSE(names::parse_shard(bad)) << bad;
    EXPECT_FALSE(names::parse_copy(bad)) << bad;
    EXPECT_FALSE(names::parse_parity(bad)) << bad;
    EXPECT_FALSE(names::parse_run_record(bad)) << bad;
  }
  EXPECT_FALSE(names::parse_run("00c0ffee00c0ffe"));
  EXPECT_FALSE(names::parse_run("-0c0ffee00c0ffee"));
}

TEST(Names, no_kind_of_name_parses_as_another) {
  const DirName dir = names::snapshot(Version{1}, kRun);
  const std::string shard = without_directory(names::shard(dir, Rank{1}));
  const std::string copy = without_directory(names::copy(dir, {NodeId{1}, Rank{1}, LayoutId{1}}));
  const std::string parity = without_directory(names::parity(dir, {1, 1, LayoutId{1}}));
  EXPECT_FALSE(names::parse_copy(shard));
  EXPECT_FALSE(names::parse_parity(shard));
  EXPECT_FALSE(names::parse_shard(copy));
  EXPECT_FALSE(names::parse_shard(parity));
  EXPECT_FALSE(names::parse_copy(parity));
}

TEST(Names, owners_of_retired_files_differ) {
  EXPECT_NE(names::owner_rank(Rank{1}), names::owner_rank(Rank{2}));
  EXPECT_NE(names::owner_rank(Rank{1}), names::owner_head());
}

}  // namespace
}  // namespace cairn
