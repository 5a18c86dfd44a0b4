// Which versions ckpt-run offers where runs from the newest one come no further.
#include "older_versions.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sample_job.hpp"

namespace ckpt_run {
namespace {

using cairn::Config;
using cairn::LevelId;
using cairn::test::kEveryLevel;
using cairn::test::sample_job_identity;
using cairn::test::SampleJob;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr auto kOnThisHost = [](std::string_view) { return true; };

// Of the sample job, which has 8 ranks on 4 simulated nodes: versions 4, 6 and 7.
class OlderVersionsOf : public testing::Test {
 protected:
  OlderVersionsOf() {
    config.storage.local = job.local();
    config.storage.global = job.global();
    config.job.name = "heat";
    config.topology.node_size = {3};
    job.add_snapshot(4, kEveryLevel);
    job.add_snapshot(6, {LevelId::local, LevelId::partner});
    job.add_snapshot(7, {LevelId::local});
  }
  [[nodiscard]] OlderVersions older(std::uint32_t restored, std::uint32_t ranks = 8) const {
    return older_versions(config, place(ranks, {}, config, {"a"}, {}).value(), kOnThisHost,
                          sample_job_identity(restored));
  }
  SampleJob job;
  Config config;
};

TEST_F(OlderVersionsOf, are_those_that_can_be_restored_the_newest_first) {
  EXPECT_THAT(older(7).versions, ElementsAre(6, 4));
  EXPECT_TRUE(older(7).all_seen);
  EXPECT_THAT(older(4).versions, IsEmpty());
  job.lose_node(0);
  job.lose_node(1);
  EXPECT_THAT(older(7).versions, ElementsAre(4)) << "version 6 has lost a node and its copies";
}

TEST_F(OlderVersionsOf, a_version_that_has_a_successor_are_not_named) { EXPECT_THAT(older(6).versions, IsEmpty()); }

TEST_F(OlderVersionsOf, may_have_a_successor_on_another_host) {
  const auto elsewhere = [](std::string_view) { return false; };
  const auto found = older_versions(config, place(8, {}, config, {"a"}, {}).value(), elsewhere, sample_job_identity(7));
  EXPECT_THAT(found.versions, ElementsAre(4)) << "the global store is visible";
  EXPECT_FALSE(found.all_seen);
}

TEST_F(OlderVersionsOf, another_number_of_ranks_are_named_only_if_they_can_be_restored) {
  EXPECT_THAT(older(7, 10).versions, ElementsAre(6, 4));
  config.restart.elastic = false;
  EXPECT_THAT(older(7, 10).versions, IsEmpty());
}

}  // namespace
}  // namespace ckpt_run
