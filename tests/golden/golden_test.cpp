// The bytes on disk never change by accident: files of the newest format, kept here, are compared byte for byte with
// what is written today, and those of every format are read. Nothing here writes into the source tree. When a test
// fails, today's bytes are in the test's temporary directory under the same name; a wanted change of format is a new
// format number, a new file beside the old one, and a reader that takes both.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <utility>

#include <gtest/gtest.h>

#include "format/hdf5/hdf5_check.hpp"
#include "format/hdf5/hdf5_file.hpp"
#include "format/manifest.hpp"
#include "format/parity_file.hpp"
#include "format/shard.hpp"
#include "store/memory/memory_store.hpp"
#include "support/sample_manifest.hpp"
#include "support/sample_notes.hpp"
#include "support/sample_parity.hpp"
#include "support/sample_shard.hpp"

namespace cairn {
namespace {

constexpr Rank kRank{2};
const FileName kShard = names::shard(test::sample_dir(), kRank);

std::string golden(const std::string& name) {
  std::ifstream file(std::filesystem::path(CAIRN_GOLDEN_DIR) / name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void expect_golden(const std::string& name, std::string_view today) {
  const std::string kept = golden(name);
  if (kept == today) return;
  const auto place = std::filesystem::path(testing::TempDir()) / name;
  std::ofstream(place, std::ios::binary) << today;
  const auto differs = std::mismatch(kept.begin(), kept.end(), today.begin(), today.end()).first - kept.begin();
  ADD_FAILURE() << name << ": " << today.size() << " bytes, should be " << kept.size() << "; the first that differs is "
                << differs << "; today's are in " << place;
}

// A block of a periodic array with ghosts on both sides.
test::SampleRegions regions_with_ghosts() {
  test::SampleRegions regions(kRank, 3);
  regions.add({"halo", ElementType::float64, 8, "", {5, 4}, {6, 8}, {0, 2}, {1, 0}, {2, 1}}, 9);
  return regions;
}

ShardEntry write_sample(MemoryStore& store, BlockDigest digest, const test::SampleRegions& regions) {
  EXPECT_TRUE(write_shard(store, kShard, test::sample_identity(kRank), regions.all(), digest));
  return digest_shard(store, kShard, {}).value();
}

void expect_golden_shard(const std::string& name, BlockDigest digest, const std::string& digest_text,
                         const test::SampleRegions& regions = {kRank, 3}) {
  MemoryStore store;
  const ShardEntry entry = write_sample(store, digest, regions);
  expect_golden(name, text_of(test::read_all(store, kShard)));
  ASSERT_TRUE(write_text(store, kShard, golden(name)));
  EXPECT_EQ(entry.digest.hex(), digest_text);
  const auto verified = verify_shard(store, kShard, entry, {});
  ASSERT_TRUE(verified) << verified.error().text();
  const auto shard = Shard::open(store, kShard).value();
  ASSERT_EQ(shard.regions().size(), regions.all().size());
  for (std::size_t i = 0; i < regions.all().size(); ++i) {
    Buffer into(regions.all()[i].bytes.size());
    const Shard::Target target{i, into};
    ASSERT_TRUE(shard.read({&target, 1}));
    EXPECT_TRUE(std::ranges::equal(into, regions.all()[i].bytes));
    EXPECT_EQ(shard.regions()[i].info, regions.all()[i].info);
  }
}

TEST(Golden, a_shard_whose_blocks_have_a_sha256_is_written_and_read_as_format_1_says) {
  expect_golden_shard("shard-1.shard", BlockDigest::sha256,
                      "f60745b38f061448427e0b0cb80036688f2fbd776959809a06ff41db67992658");
}

TEST(Golden, a_shard_whose_blocks_have_none_is_written_and_read_as_format_2_says) {
  expect_golden_shard("shard-2.shard", BlockDigest::crc32c,
                      "13a8c95f479b80341e362620c4a436bd52c3dd35479b5728e3384600842678ca");
}

TEST(Golden, a_shard_with_ghosts_whose_blocks_have_a_sha256_is_written_and_read_as_format_3_says) {
  expect_golden_shard("shard-3.shard", BlockDigest::sha256,
                      "b93cc5e19332162243391ec107064ba32a1155967140aeffcf7d20c0a3227b23", regions_with_ghosts());
}

TEST(Golden, a_shard_with_ghosts_whose_blocks_have_none_is_written_and_read_as_format_4_says) {
  expect_golden_shard("shard-4.shard", BlockDigest::crc32c,
                      "35fc9e73428de5d52a5a96452ecc506ce72b8e2ef8d0102ad295a85860dee276", regions_with_ghosts());
}

void expect_golden_parity(const std::string& name, BlockDigest digest) {
  const test::SampleParity today = test::sample_parity(digest);
  expect_golden(name, text_of(today.bytes));
  MemoryStore store;
  ASSERT_TRUE(write_text(store, kShard, golden(name)));
  const auto verified = verify_parity_file(store, kShard, test::sample_parity_header(), today.entry, {});
  EXPECT_TRUE(verified) << verified.error().text();
}

TEST(Golden, a_parity_file_without_crcs_is_written_and_read_as_format_1_says) {
  expect_golden_parity("parity-1.bin", BlockDigest::sha256);
}

TEST(Golden, a_parity_file_with_crcs_is_written_and_read_as_format_2_says) {
  expect_golden_parity("parity-2.bin", BlockDigest::crc32c);
}

TEST(Golden, manifests_are_written_and_read_as_format_6_says) {
  expect_golden("node-manifest-6.json", to_json(test::sample_node_manifest()));
  expect_golden("global-manifest-6.json", to_json(test::sample_global_manifest()));
  EXPECT_EQ(parse_node_manifest(golden("node-manifest-6.json")).value(), test::sample_node_manifest());
  EXPECT_EQ(parse_global_manifest(golden("global-manifest-6.json")).value(), test::sample_global_manifest());
}

TEST(Golden, records_are_written_as_format_2_says) {
  expect_golden("run-record-2.json", to_json(test::sample_run_record()));
  expect_golden("costs-2.json", to_json(test::sample_measured()));
  expect_golden("chain-mark-2.json", to_json(test::sample_chain_mark()));
}

TEST(Golden, records_of_choices_are_written_as_format_10_says) {
  expect_golden("run-record-10.json", to_json(test::sample_choosing_record()));
  EXPECT_EQ(parse_run_record(golden("run-record-10.json")).value(), test::sample_choosing_record());
}

TEST(Golden, records_of_rejected_snapshots_are_written_as_format_12_says) {
  expect_golden("run-record-12.json", to_json(test::sample_rejecting_record()));
  EXPECT_EQ(parse_run_record(golden("run-record-12.json")).value(), test::sample_rejecting_record());
}

TEST(Golden, manifests_of_format_2_are_read) {
  EXPECT_EQ(parse_node_manifest(golden("node-manifest-2.json")).value(), test::sample_node_manifest());
  GlobalManifest global = test::sample_global_manifest();
  EXPECT_EQ(parse_global_manifest(golden("global-manifest-2-node-files.json")).value(), global);
  global.node_files.clear();  // which came later
  EXPECT_EQ(parse_global_manifest(golden("global-manifest-2.json")).value(), global);
  EXPECT_EQ(parse_run_record(golden("run-record-2.json")).value(), test::sample_run_record());
  EXPECT_EQ(parse_job_costs(golden("costs-2.json")).value(), test::sample_measured());
  EXPECT_EQ(parse_chain_mark(golden("chain-mark-2.json")).value(), test::sample_chain_mark());
}

// The key is 32 bytes from 0 up, the job is heat, the chain that of the sample mark.
Sealer golden_sealer() {
  Buffer bytes;
  for (int i = 0; i < 32; ++i) bytes.push_back(static_cast<std::byte>(i));
  return Sealer(std::make_shared<const SecretKey>(SecretKey::from(std::move(bytes)).value()), "heat");
}

TEST(Golden, files_that_are_sealed_with_a_key_are_written_and_read_as_formats_3_and_7_say) {
  const Sealer of_marks = golden_sealer();
  const Sealer sealer = of_marks.of_chain(test::sample_chain_mark().id);
  expect_golden("node-manifest-7.json", to_json(test::sample_node_manifest(), sealer));
  expect_golden("run-record-3.json", to_json(test::sample_run_record(), sealer));
  expect_golden("chain-mark-3.json", to_json(test::sample_chain_mark(), of_marks));
  for (const char* name : {"node-manifest-3.json", "node-manifest-7.json"})
    EXPECT_EQ(parse_node_manifest(golden(name), sealer).value(), test::sample_node_manifest());
  EXPECT_EQ(parse_run_record(golden("run-record-3.json"), sealer).value(), test::sample_run_record());
  EXPECT_EQ(parse_chain_mark(golden("chain-mark-3.json"), of_marks).value(), test::sample_chain_mark());
}

// Labels and attributes came without a new format: older readers leave them out.
TEST(Golden, manifests_with_notes_are_written_and_read_as_format_6_says) {
  NodeManifest node = test::sample_node_manifest();
  GlobalManifest global = test::sample_global_manifest();
  node.notes = global.notes = test::sample_notes();
  expect_golden("node-manifest-6-notes.json", to_json(node));
  expect_golden("global-manifest-6-notes.json", to_json(global));
  EXPECT_EQ(parse_node_manifest(golden("node-manifest-6-notes.json")).value(), node);
  EXPECT_EQ(parse_global_manifest(golden("global-manifest-6-notes.json")).value(), global);
}

TEST(Golden, pins_are_written_and_read_as_formats_2_and_3_say) {
  const Sealer sealer = golden_sealer().of_chain(test::sample_chain_mark().id);
  expect_golden("pins-2.json", pins_to_json(test::sample_pins()));
  expect_golden("pins-3.json", pins_to_json(test::sample_pins(), sealer));
  EXPECT_EQ(parse_pins(golden("pins-2.json")).value(), test::sample_pins());
  EXPECT_EQ(parse_pins(golden("pins-3.json"), sealer).value(), test::sample_pins());
}

// Of nodes that have changed places, without a key and with one.
TEST(Golden, manifests_with_an_arrangement_of_formats_4_and_5_are_read) {
  NodeManifest manifest = test::sample_node_manifest();
  manifest.holdings.front().layout.arrangement = 3;
  EXPECT_EQ(parse_node_manifest(golden("node-manifest-4.json")).value(), manifest);
  const Sealer sealer = golden_sealer().of_chain(test::sample_chain_mark().id);
  EXPECT_EQ(parse_node_manifest(golden("node-manifest-5.json"), sealer).value(), manifest);
}

// Of layouts that avoid sick nodes, without a key and with one.
TEST(Golden, manifests_with_avoided_nodes_are_written_and_read_as_formats_8_and_9_say) {
  NodeManifest manifest = test::sample_node_manifest();
  manifest.holdings.front().layout.avoided = {NodeId{3}};
  const Sealer sealer = golden_sealer().of_chain(test::sample_chain_mark().id);
  expect_golden("node-manifest-8.json", to_json(manifest));
  expect_golden("node-manifest-9.json", to_json(manifest, sealer));
  EXPECT_EQ(parse_node_manifest(golden("node-manifest-8.json")).value(), manifest);
  EXPECT_EQ(parse_node_manifest(golden("node-manifest-9.json"), sealer).value(), manifest);
}

TEST(Golden, manifests_of_format_1_are_read) {
  GlobalManifest global = test::sample_global_manifest();
  global.master.reset();
  global.node_files.clear();
  EXPECT_EQ(parse_node_manifest(golden("node-manifest-1.json")).value(), test::sample_node_manifest());
  EXPECT_EQ(parse_global_manifest(golden("global-manifest-1.json")).value(), global);
  EXPECT_EQ(parse_run_record(golden("run-record-1.json")).value(), test::sample_run_record());
  EXPECT_EQ(parse_job_costs(golden("costs-1.json")).value(), test::sample_measured());
}

// Before format 2, opaque regions of an L4 file had their type's name as tag.
TEST(Golden, an_L4_snapshot_of_the_first_format_is_read) {
  MemoryStore store;
  const DirName dir = DirName{"v00000001-cb52d969490ea826"};
  const std::pair<const char*, FileName> files[] = {{"manifest.json", names::manifest(dir)},
                                                    {"node0000.h5", names::node_file(dir, {0})},
                                                    {"checkpoint.h5", names::master_file(dir)}};
  for (const auto& [name, file] : files)
    ASSERT_TRUE(write_text(store, file, golden(std::string("l4-format-1/") + name)));
  const auto manifest = read_global_manifest(store, dir, {});
  ASSERT_TRUE(manifest) << manifest.error().text();
  for (const ShardEntry& shard : manifest->shards) {
    const auto whole = verify_node_shard(store, names::node_file(dir, {0}), shard, {});
    EXPECT_TRUE(whole) << whole.error().text();
  }
  const auto regions = read_node_regions(store, names::node_file(dir, {0}), Rank{1});
  ASSERT_TRUE(regions) << regions.error().text();
  EXPECT_EQ(regions->front().type_name, "8Particle");
}

}  // namespace
}  // namespace cairn
