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

#include "format/manifest.hpp"
#include "format/parity_file.hpp"
#include "format/shard.hpp"
#include "store/memory/memory_store.hpp"
#include "support/sample_manifest.hpp"
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

ShardEntry write_sample(MemoryStore& store) {
  const test::SampleRegions regions(kRank, 3);
  EXPECT_TRUE(write_shard(store, kShard, test::sample_identity(kRank), regions.all()));
  return digest_shard(store, kShard, {}).value();
}

TEST(Golden, a_shard_is_written_as_format_1_says) {
  MemoryStore store;
  write_sample(store);
  expect_golden("shard-1.shard", text_of(test::read_all(store, kShard)));
}

TEST(Golden, a_shard_of_format_1_is_read) {
  MemoryStore store;
  const ShardEntry entry = write_sample(store);
  ASSERT_TRUE(write_text(store, kShard, golden("shard-1.shard")));
  EXPECT_EQ(entry.digest.hex(), "f60745b38f061448427e0b0cb80036688f2fbd776959809a06ff41db67992658");
  const auto verified = verify_shard(store, kShard, entry, {});
  ASSERT_TRUE(verified) << verified.error().text();
  const auto shard = Shard::open(store, kShard).value();
  const test::SampleRegions regions(kRank, 3);
  ASSERT_EQ(shard.regions().size(), regions.all().size());
  for (std::size_t i = 0; i < regions.all().size(); ++i) {
    Buffer into(regions.all()[i].bytes.size());
    const Shard::Target target{i, into};
    ASSERT_TRUE(shard.read({&target, 1}, true));
    EXPECT_TRUE(std::ranges::equal(into, regions.all()[i].bytes));
    EXPECT_EQ(shard.regions()[i].info, regions.all()[i].info);
  }
}

TEST(Golden, a_parity_file_is_written_and_read_as_format_1_says) {
  const Buffer today = test::sample_parity_file();
  expect_golden("parity-1.bin", text_of(today));
  const std::string kept = golden("parity-1.bin");
  ASSERT_GE(kept.size(), kParityHeaderBytes);
  EXPECT_EQ(decode_parity_header(bytes_of(kept).first(kParityHeaderBytes)).value(), test::sample_parity_header());
}

TEST(Golden, manifests_are_written_as_format_2_says) {
  expect_golden("node-manifest-2.json", to_json(test::sample_node_manifest()));
  expect_golden("global-manifest-2-node-files.json", to_json(test::sample_global_manifest()));
  expect_golden("run-record-2.json", to_json(test::sample_run_record()));
  expect_golden("costs-2.json", to_json(test::sample_measured()));
  expect_golden("chain-mark-2.json", to_json(test::sample_chain_mark()));
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

TEST(Golden, files_that_are_sealed_with_a_key_are_written_and_read_as_format_3_says) {
  const Sealer of_marks = golden_sealer();
  const Sealer sealer = of_marks.of_chain(test::sample_chain_mark().id);
  expect_golden("node-manifest-3.json", to_json(test::sample_node_manifest(), sealer));
  expect_golden("run-record-3.json", to_json(test::sample_run_record(), sealer));
  expect_golden("chain-mark-3.json", to_json(test::sample_chain_mark(), of_marks));
  EXPECT_EQ(parse_node_manifest(golden("node-manifest-3.json"), sealer).value(), test::sample_node_manifest());
  EXPECT_EQ(parse_run_record(golden("run-record-3.json"), sealer).value(), test::sample_run_record());
  EXPECT_EQ(parse_chain_mark(golden("chain-mark-3.json"), of_marks).value(), test::sample_chain_mark());
}

// Of nodes that have changed places, without a key and with one.
TEST(Golden, manifests_with_an_arrangement_are_written_and_read_as_formats_4_and_5_say) {
  NodeManifest manifest = test::sample_node_manifest();
  manifest.holdings.front().layout.arrangement = 3;
  expect_golden("node-manifest-4.json", to_json(manifest));
  EXPECT_EQ(parse_node_manifest(golden("node-manifest-4.json")).value(), manifest);
  const Sealer sealer = golden_sealer().of_chain(test::sample_chain_mark().id);
  expect_golden("node-manifest-5.json", to_json(manifest, sealer));
  EXPECT_EQ(parse_node_manifest(golden("node-manifest-5.json"), sealer).value(), manifest);
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

}  // namespace
}  // namespace cairn
