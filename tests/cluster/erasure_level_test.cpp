// L3 under every loss: each subset of nodes of groups of every size and parity.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "format/manifest.hpp"
#include "format/parity_file.hpp"
#include "store/memory/memory_store.hpp"
#include "support/head_cluster.hpp"
#include "support/sample_shard.hpp"
#include "topology/placement.hpp"

namespace cairn::test {
namespace {

HeadCluster erasure_cluster(std::uint32_t nodes, std::uint32_t group, std::uint32_t parity,
                            std::vector<NodeId> avoided = {}) {
  std::vector<std::uint32_t> ranks;
  for (std::uint32_t node = 0; node < nodes; ++node) ranks.push_back(1 + (node + 1) % 3);
  Layout layout = layout_of_ranks(ranks);
  layout.groups = make_groups(nodes, group, parity, {});
  layout.parity = parity;
  layout.avoided = std::move(avoided);
  for (auto& members : layout.groups)
    std::stable_partition(members.begin(), members.end(), [&](NodeId node) { return !layout.avoids(node); });
  HeadCluster cluster(layout, [](std::uint32_t rank) { return rank * 131 % 400; });
  cluster.protect(level_set({LevelId::erasure}));
  return cluster;
}

struct Shape {
  std::uint32_t nodes;
  std::uint32_t group;
  std::uint32_t parity;
  std::vector<NodeId> avoided = {};
};

class ErasureShapes : public testing::TestWithParam<Shape> {};

TEST_P(ErasureShapes, bring_back_every_subset_of_lost_nodes_that_leaves_enough_of_each_group) {
  HeadCluster cluster = erasure_cluster(GetParam().nodes, GetParam().group, GetParam().parity, GetParam().avoided);
  expect_all_that_can_survive(cluster);
}

std::string without(const std::vector<NodeId>& avoided) {
  std::string text;
  for (const NodeId node : avoided) text += "_without_" + std::to_string(node.value);
  return text;
}

std::vector<Shape> shapes() {
  std::vector<Shape> all;
  for (std::uint32_t n = 2; n <= 6; ++n) {
    for (std::uint32_t m = 1; m < n; ++m) all.push_back({n, n, m});
  }
  for (std::uint32_t m = 1; m <= 3; ++m) {
    all.push_back({7, 7, m});
    all.push_back({8, 8, m});
  }
  // Groups of unequal sizes.
  all.push_back({5, 3, 1});
  all.push_back({7, 4, 1});
  all.push_back({7, 4, 2});
  // With sick nodes, which hold no parity where others can.
  for (std::uint32_t m = 1; m <= 2; ++m) {
    for (std::uint32_t sick = 0; sick < 5; ++sick) all.push_back({5, 5, m, {NodeId{sick}}});
    all.push_back({6, 6, m, {NodeId{1}, NodeId{4}}});
    all.push_back({4, 4, m, {NodeId{0}, NodeId{3}}});
  }
  all.push_back({7, 4, 2, {NodeId{0}, NodeId{5}}});
  return all;
}

INSTANTIATE_TEST_SUITE_P(Shapes, ErasureShapes, testing::ValuesIn(shapes()), [](const auto& shape) {
  return "nodes_" + std::to_string(shape.param.nodes) + "_group_" + std::to_string(shape.param.group) + "_parity_" +
         std::to_string(shape.param.parity) + without(shape.param.avoided);
});

// The judge of the sweep above works column by column; this is the promise itself.
TEST(ErasureLevel, survives_the_loss_of_m_nodes_of_each_group_and_of_no_more) {
  HeadCluster cluster = erasure_cluster(7, 4, 2);  // groups of 4 and 3
  for (std::uint32_t bits = 0; bits < 1U << 7U; ++bits) {
    const auto gone = ranks_beyond_rescue(cluster.layout(), cluster.levels(), 0, losses_of(bits));
    const auto lost_of = [&](std::uint32_t mask) { return losses_of(bits & mask).size(); };
    EXPECT_EQ(gone.empty(), lost_of(0b0001111) <= 2 && lost_of(0b1110000) <= 2) << bits;
  }
}

TEST(ErasureLevel, keeps_no_parity_on_sick_nodes_and_protects_their_shards) {
  HeadCluster cluster = erasure_cluster(5, 5, 2, {NodeId{1}});
  for (std::uint32_t node = 0; node < 5; ++node) {
    const auto manifest = read_node_manifest(cluster.store(node), cluster.dir(), {});
    ASSERT_TRUE(manifest) << manifest.error().text();
    EXPECT_EQ(manifest->holdings.front().erasure->parity.size(), node == 1 ? 0U : 2U) << node;
  }
  for (const std::uint32_t bits : {0b00010U, 0b00110U, 0b10010U}) {
    EXPECT_TRUE(ranks_beyond_rescue(cluster.layout(), cluster.levels(), 0, losses_of(bits)).empty()) << bits;
  }
}

TEST(ErasureLevel, decodes_volumes_of_very_different_sizes_longer_than_a_slice) {
  Layout layout = layout_of_ranks({1, 3, 1, 2});
  layout.groups = make_groups(4, 4, 2, {});
  layout.parity = 2;
  HeadCluster cluster(layout, [](std::uint32_t rank) { return rank == 2 ? 120'000 : rank * 5; });
  cluster.protect(level_set({LevelId::erasure}));
  expect_all_that_can_survive(cluster);
}

FileName parity_name(const DirName& dir, const Holding& holding, const ParityEntry& entry) {
  return names::parity(dir, {entry.column, entry.row, holding.layout.id()});
}

// Makes a node's parity what a Cairn wrote that knew no CRCs there.
void make_older(MemoryStore& store, const DirName& dir) {
  NodeManifest manifest = read_node_manifest(store, dir, {}).value();
  for (Holding& holding : manifest.holdings) {
    for (ParityEntry& entry : holding.erasure->parity) {
      const FileName name = parity_name(dir, holding, entry);
      Buffer file = read_all(store, name);
      ParityHeader header = decode_parity_header(Bytes(file).first(kParityHeaderBytes)).value();
      header.digest = BlockDigest::sha256;
      file.resize(header.file_bytes());
      std::ranges::copy(encode(header), file.begin());
      ASSERT_TRUE(write_text(store, name, std::string(text_of(file))));
      entry.bytes = file.size();
      entry.digest = sha256(file);
    }
  }
  ASSERT_TRUE(write_manifest(store, manifest, {}));
}

// A job may die between the files and the manifest, so the files must fit the manifest that is there.
TEST(ErasureLevel, that_is_made_again_leaves_parity_of_an_older_Cairn_as_its_manifest_says) {
  HeadCluster cluster = erasure_cluster(3, 3, 1);
  for (std::uint32_t node = 0; node < 3; ++node) make_older(cluster.store(node), cluster.dir());
  EXPECT_THAT(cluster.protect_again(LevelId::erasure), testing::Each(""));
  for (std::uint32_t node = 0; node < 3; ++node) {
    const NodeManifest manifest = read_node_manifest(cluster.store(node), cluster.dir(), {}).value();
    const Holding& holding = manifest.holdings.front();
    for (const ParityEntry& entry : holding.erasure->parity) {
      const ParityHeader expected{manifest.identity, holding.layout.id(), entry.column, entry.row,
                                  holding.erasure->chunk_bytes};
      const auto good =
          verify_parity_file(cluster.store(node), parity_name(cluster.dir(), holding, entry), expected, entry, {});
      EXPECT_TRUE(good) << good.error().text();
    }
  }
  cluster.lose({1});
  const auto outcome = cluster.restore();
  ASSERT_FALSE(outcome.error) << outcome.error->text();
  EXPECT_EQ(cluster.wrong_ranks(), std::vector<std::uint32_t>{});
}

}  // namespace
}  // namespace cairn::test
