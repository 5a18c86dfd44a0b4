// What ckpt-run says before a run on another number of ranks than the newest snapshot has.
#include "other_ranks.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sample_job.hpp"

namespace ckpt_run {
namespace {

using cairn::Config;
using cairn::test::kEveryLevel;
using cairn::test::SampleJob;

constexpr auto kHere = [](std::string_view) { return true; };

// Of the sample job, which has 8 ranks on 4 simulated nodes.
class OtherRanks : public testing::Test {
 protected:
  OtherRanks() {
    config.storage.local = job.local();
    config.storage.global = job.global();
    config.job.name = "heat";
    config.topology.node_size = {3};
    job.add_snapshot(7, {cairn::LevelId::local, cairn::LevelId::partner});
  }
  [[nodiscard]] Placement on(std::uint32_t ranks) const { return place(ranks, {}, config, {"a"}, {}).value(); }
  [[nodiscard]] std::optional<SnapshotOfOtherRanks> found(std::uint32_t ranks) const {
    return snapshot_of_other_ranks(config, on(ranks), kHere);
  }
  SampleJob job;
  Config config;
};

TEST_F(OtherRanks, are_told_with_the_version_that_is_restored) {
  EXPECT_EQ(found(6), (SnapshotOfOtherRanks{7, 8, 6, false}));
  EXPECT_EQ(text_of(*found(6)), "version 7 of 8 ranks is restored on 6");
  EXPECT_EQ(found(10)->now, 10U);
  EXPECT_EQ(found(8), std::nullopt) << "as many as before";
}

TEST_F(OtherRanks, are_not_told_if_no_shard_is_to_be_found_for_some) {
  EXPECT_EQ(found(2), std::nullopt) << "the run has one node, and does not see the stores of the others";
  job.lose_node(0);
  EXPECT_EQ(found(6), std::nullopt) << "the store of the fourth node is not seen, and its copies were on the first";
  EXPECT_TRUE(found(8 + 2));
}

TEST_F(OtherRanks, are_not_told_if_the_snapshot_is_refused_or_not_looked_at) {
  config.restart.elastic = false;
  EXPECT_EQ(found(6), std::nullopt);
  config.restart.elastic = true;
  config.restart.mode = Config::Restart::Mode::fresh;
  EXPECT_EQ(found(6), std::nullopt);
}

TEST_F(OtherRanks, may_be_of_a_newer_snapshot_where_not_all_stores_are_visible) {
  job.add_snapshot(8, kEveryLevel);
  const auto elsewhere = [](std::string_view) { return false; };
  const auto other = snapshot_of_other_ranks(config, on(2), elsewhere);
  EXPECT_EQ(other, (SnapshotOfOtherRanks{8, 8, 2, true}));
  EXPECT_EQ(text_of(*other), "version 8 of 8 ranks, or a newer one, is restored on 2");
}

}  // namespace
}  // namespace ckpt_run
