// A region of more than 2 GiB, all the way: shard, node file, shard. In memory, apart from the other tests.
#include <cstdlib>
#include <memory>

#include <gtest/gtest.h>

#include "format/hdf5/hdf5_file.hpp"
#include "store/names.hpp"
#include "store/posix/posix_store.hpp"
#include "support/temp_directory.hpp"
#include "support/write_node_file.hpp"
#include "support/write_shard.hpp"

namespace cairn {
namespace {

TEST(LargeShard, of_more_than_two_gibibytes_survives_the_way_through_hdf5) {
  const test::TempDirectory root("/dev/shm");
  const auto store = PosixStore::open(root.path(), "job").value();
  const DirName dir = names::snapshot({1}, {2});
  const FileName shard = names::shard(dir, {0});
  const FileName rebuilt = names::shard(dir, {1});
  const FileName node_file = names::node_file(dir, {0});
  const std::uint64_t size = (1ULL << 31U) + 200 * kMiB + 24;
  ShardEntry entry;
  {
    // Pages that nobody writes take no memory.
    const std::unique_ptr<std::byte, decltype(&std::free)> memory(static_cast<std::byte*>(std::calloc(size, 1)),
                                                                  &std::free);
    const MutableBytes bytes(memory.get(), size);
    for (std::uint64_t at = 0; at < size; at += 16 * kMiB) bytes[at] = static_cast<std::byte>(1 + at / kMiB);
    bytes.back() = std::byte{0x5a};
    const std::vector<test::RegionData> regions{{{"bulk", ElementType::float64, 8, "", {size / 8}, {}, {}}, bytes}};
    ASSERT_TRUE(write_shard(*store, shard, {{{1}, {1}, {2}}, 1, {0}, 1}, regions));
  }
  entry = digest_shard(*store, shard, {}).value();
  EXPECT_GT(entry.bytes, size);
  const auto written = test::write_node_file(*store, node_file, *store, {shard}, {});
  ASSERT_TRUE(written) << written.error().text();
  // Rebuilt over its own old bytes.
  ASSERT_TRUE(store->retire(shard, names::owner_rank({0})));
  ShardTarget target{*store, rebuilt};
  const auto restored = restore_shard(*store, node_file, entry, target, {});
  ASSERT_TRUE(restored) << restored.error().text();
  const auto named = target.file.commit();
  ASSERT_TRUE(named) << named.error().text();
  const auto verified = verify_shard(*store, rebuilt, entry, {});
  EXPECT_TRUE(verified) << verified.error().text();
}

}  // namespace
}  // namespace cairn
