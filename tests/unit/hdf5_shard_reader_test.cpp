// Shards in a node file, read without being rebuilt.
#include "format/hdf5/hdf5_shard_reader.hpp"

#include <gtest/gtest.h>

#include "format/shard.hpp"
#include "store/memory/memory_store.hpp"
#include "support/facts.hpp"
#include "support/sample_shard.hpp"
#include "support/write_node_file.hpp"

namespace cairn::test {
namespace {

const FileName kNodeFile = names::node_file(sample_dir(), {0});

// A node file of two ranks.
struct NodeFile {
  explicit NodeFile(BlockDigest digest = BlockDigest::crc32c) {
    std::vector<FileName> shards;
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      SampleRegions regions({rank}, 100'000);  // several blocks
      regions.add({"tiny", ElementType::uint8, 1, "", {3}, {}, {}}, rank);
      shards.push_back(names::shard(sample_dir(), {rank}));
      EXPECT_TRUE(write_shard(local, shards.back(), sample_identity({rank}), regions.all(), digest));
      entries.push_back(digest_shard(local, shards.back(), {}).value());
    }
    EXPECT_TRUE(write_node_file(global, kNodeFile, local, shards, {}));
  }
  [[nodiscard]] Buffer shard(std::uint32_t rank) const { return read_all(local, names::shard(sample_dir(), {rank})); }
  MemoryStore local;
  MemoryStore global;
  std::vector<ShardEntry> entries;
};

TEST(NodeShardReader, has_the_bytes_of_the_shard) {
  for (const BlockDigest digest : {BlockDigest::crc32c, BlockDigest::sha256}) {
    const NodeFile file(digest);
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      const auto reader = open_node_shard(file.global, kNodeFile, file.entries[rank]);
      ASSERT_TRUE(reader) << reader.error().text();
      Buffer bytes((*reader)->size_bytes());
      ASSERT_TRUE((*reader)->read(0, bytes));
      EXPECT_EQ(bytes, file.shard(rank));
    }
  }
}

TEST(NodeShardReader, reads_any_part) {
  const NodeFile file;
  const Buffer whole = file.shard(1);
  const auto reader = open_node_shard(file.global, kNodeFile, file.entries[1]);
  ASSERT_TRUE(reader);
  for (std::uint64_t begin = 0; begin < whole.size(); begin += 4093) {
    Buffer part(std::min<std::uint64_t>(1 + begin % 9000, whole.size() - begin));
    ASSERT_TRUE((*reader)->read(begin, part));
    EXPECT_TRUE(std::ranges::equal(part, Bytes(whole).subspan(begin, part.size()))) << begin;
  }
  Buffer two(2);
  EXPECT_EQ((*reader)->read(whole.size() - 1, two).error().code, Code::corrupt);
  EXPECT_EQ((*reader)->read(whole.size() + 1, {}).error().code, Code::corrupt);
}

TEST(NodeShardReader, knows_whose_shard_it_is) {
  const NodeFile file;
  ShardEntry other = file.entries[0];
  other.digest.bytes[0] ^= std::byte{1};
  const auto wrong = open_node_shard(file.global, kNodeFile, other);
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, Code::corrupt);
  EXPECT_TRUE(has_thing(wrong.error().message, kNodeFile.path)) << wrong.error().message;
  other.rank = {7};
  EXPECT_FALSE(open_node_shard(file.global, kNodeFile, other));
}

}  // namespace
}  // namespace cairn::test
