// What ckpt-tool verify checks of the master file of a snapshot at L4.
#include "format/hdf5/hdf5_check.hpp"

#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "format/hdf5/hdf5_file.hpp"
#include "store/memory/memory_store.hpp"
#include "support/facts.hpp"
#include "support/sample_shard.hpp"
#include "support/write_node_file.hpp"

namespace cairn {
namespace {

using test::Fails;

const DirName kCheckedDir = test::sample_dir();
const FileName kMaster = names::master_file(kCheckedDir);

RegionInfo small_region(std::string name) { return {std::move(name), ElementType::int32, 4, "", {3}, {}, {}}; }

// Rank 0 has `count` regions.
RankRegions many_regions(std::uint32_t count) {
  RankRegions rank{{0}, {0}, {}};
  for (std::uint32_t i = 0; i < count; ++i) rank.regions.push_back(small_region("region " + std::to_string(i)));
  return rank;
}

// A master file over the node file of node 0; other nodes have none.
std::shared_ptr<MemoryStore> store_with_master(const std::vector<RankRegions>& ranks) {
  auto global = std::make_shared<MemoryStore>();
  MemoryStore local;
  const FileName shard = names::shard(kCheckedDir, {0});
  test::SampleRegions regions;
  regions.add(small_region("any"), 1);
  EXPECT_TRUE(write_shard(local, shard, test::sample_identity({0}), regions.all()));
  EXPECT_TRUE(test::write_node_file(*global, names::node_file(kCheckedDir, {0}), local, {shard}, {}));
  const auto written = write_master_file(*global, kCheckedDir, ranks);
  EXPECT_TRUE(written) << written.error().text();
  return global;
}

Status verify(const Store& global) {
  return verify_master_file(global, kCheckedDir, test::kSampleIdentity, {NodeId{0}});
}

TEST(Hdf5MasterCheck, accepts_what_was_written) {
  const auto verified = verify(*store_with_master({many_regions(20)}));
  EXPECT_TRUE(verified) << verified.error().text();
  EXPECT_TRUE(verify(*store_with_master({many_regions(0)})));
}

// A look at all names for each of them would take longer than any test may.
TEST(Hdf5MasterCheck, finds_the_one_foreign_part_among_many_arrays) {
  const RankRegions foreign{{1}, {7}, {small_region("the last of all")}};
  const Status status = verify(*store_with_master({many_regions(20'000), foreign}));
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Code::corrupt);
  EXPECT_THAT(status, Fails(Code::corrupt, {kMaster.path, "/arrays/the last of all", "node0007.h5"}));
}

}  // namespace
}  // namespace cairn
