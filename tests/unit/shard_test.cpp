#include "format/shard.hpp"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codec/crc32c.hpp"
#include "store/memory/memory_store.hpp"
#include "store/posix/posix_store.hpp"
#include "support/facts.hpp"
#include "support/sample_shard.hpp"
#include "support/temp_directory.hpp"

namespace cairn {
namespace {

using test::Fails;
using test::SampleRegions;

constexpr Rank kRank{7};
const FileName kName = names::shard(test::sample_dir(), kRank);

// Three blocks and a bit, so that regions cross blocks.
SampleRegions large_regions() {
  SampleRegions regions;
  regions.add({"tiny", ElementType::int32, 4, "", {}, {}, {}}, 1);
  regions.add({"bulk", ElementType::float64, 8, "", {300'000}, {}, {}}, 2);
  regions.add({"empty", ElementType::uint8, 1, "", {0, 9}, {}, {}}, 3);
  regions.add({"rest", ElementType::opaque, 100, "Cell", {9'000}, {}, {}}, 4);
  regions.add({"last", ElementType::uint8, 1, "", {0}, {}, {}}, 5);
  return regions;
}

std::uint64_t write(Store& store, const SampleRegions& regions) {
  const auto size = write_shard(store, kName, test::sample_identity(kRank), regions.all());
  EXPECT_TRUE(size) << size.error().text();
  return size.value_or(0);
}

void expect_reads_back(const Store& store, const SampleRegions& regions) {
  const auto shard = Shard::open(store, kName);
  ASSERT_TRUE(shard) << shard.error().text();
  ASSERT_EQ(shard->regions().size(), regions.all().size());
  std::vector<Buffer> copies;
  std::vector<Shard::Target> targets;
  copies.reserve(regions.all().size());
  // Backwards, since targets may come in any order.
  for (std::size_t i = regions.all().size(); i-- > 0;) {
    EXPECT_EQ(shard->regions()[i].info, regions.all()[i].info);
    copies.emplace_back(regions.all()[i].bytes.size());
    targets.push_back({i, copies.back()});
  }
  const auto read = shard->read(targets);
  ASSERT_TRUE(read) << read.error().text();
  for (const auto& target : targets) {
    EXPECT_TRUE(std::ranges::equal(target.into, regions.all()[target.region].bytes)) << target.region;
  }
}

TEST(Shard, gives_back_what_was_written) {
  MemoryStore store;
  for (const SampleRegions& regions : {SampleRegions(kRank, 10), large_regions(), SampleRegions()}) {
    EXPECT_EQ(write(store, regions), test::plan_shard(regions.all())->header().file_bytes());
    expect_reads_back(store, regions);
    ASSERT_TRUE(digest_shard(store, kName, {}));
    expect_reads_back(store, regions);
  }
}

TEST(Shard, is_the_same_file_in_a_mapped_store_and_over_a_recycled_file) {
  MemoryStore memory;
  write(memory, large_regions());
  for (const std::string& place : {std::string("/dev/shm"), testing::TempDir()}) {
    const test::TempDirectory root(place);
    const auto store = PosixStore::open(root.path(), "job");
    ASSERT_TRUE(store) << store.error().text();
    // Old bytes everywhere in the file that is used again.
    const Buffer old(test::plan_shard(large_regions().all())->header().file_bytes(), std::byte{0xee});
    auto writer = (*store)->create(kName, old.size(), names::owner_rank(kRank));
    ASSERT_TRUE(writer && (*writer)->write(0, old) && (*writer)->commit(old.size(), false));
    writer->reset();
    ASSERT_TRUE((*store)->retire(kName, names::owner_rank(kRank)));
    write(**store, large_regions());
    EXPECT_EQ(test::read_all(**store, kName), test::read_all(memory, kName)) << place;
    expect_reads_back(**store, large_regions());
  }
}

TEST(Shard, header_says_whose_it_is) {
  MemoryStore store;
  write(store, SampleRegions(kRank, 3));
  const auto shard = Shard::open(store, kName);
  ASSERT_TRUE(shard);
  EXPECT_EQ(shard->header().identity, test::kSampleIdentity);
  EXPECT_EQ(shard->header().safe_point, test::kSampleSafePoint);
  EXPECT_EQ(shard->header().rank, kRank);
  EXPECT_EQ(shard->header().ranks, 16U);
  EXPECT_EQ(decode_shard_header(encode(shard->header())).value(), shard->header());
}

TEST(Shard, one_region_is_found_by_name_and_read_alone) {
  MemoryStore store;
  const SampleRegions regions = large_regions();
  write(store, regions);
  const auto shard = Shard::open(store, kName);
  ASSERT_TRUE(shard);
  const auto index = shard->find("rest");
  ASSERT_TRUE(index);
  EXPECT_EQ(*index, 3U);
  Buffer into(900'000);
  const Shard::Target target{*index, into};
  ASSERT_TRUE(shard->read({&target, 1}));
  EXPECT_TRUE(std::ranges::equal(into, regions.all()[3].bytes));
  EXPECT_THAT(shard->find("missing"), Fails(Code::not_found, {kName.path, "missing"}));
}

TEST(Shard, targets_of_another_size_or_asked_for_twice_are_refused) {
  MemoryStore store;
  write(store, SampleRegions(kRank, 3));
  const auto shard = Shard::open(store, kName);
  ASSERT_TRUE(shard);
  Buffer four(4);
  Buffer five(5);
  const std::vector<Shard::Target> wrong{{1, five}};
  EXPECT_EQ(shard->read(wrong).error().code, Code::mismatch);
  const std::vector<Shard::Target> beyond{{5, four}};
  EXPECT_EQ(shard->read(beyond).error().code, Code::invalid_argument);
  const std::vector<Shard::Target> twice{{1, four}, {1, four}};
  EXPECT_EQ(shard->read(twice).error().code, Code::invalid_argument);
}

TEST(Shard, a_damaged_block_is_named_by_read_and_by_digest) {
  MemoryStore store;
  const SampleRegions regions = large_regions();
  write(store, regions);
  const std::uint64_t data_offset = Shard::open(store, kName)->header().data_offset;
  ASSERT_TRUE(store.corrupt(kName, data_offset + 2 * kMiB + 5));
  const auto shard = Shard::open(store, kName);
  ASSERT_TRUE(shard);
  Buffer into(2'400'000);
  const Shard::Target target{1, into};
  const auto read = shard->read({&target, 1});
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, Code::corrupt);
  EXPECT_TRUE(read.error().message.starts_with(kName.path + ": block 2 of 4: CRC-32C is ")) << read.error().message;
  const auto digested = digest_shard(store, kName, {});
  ASSERT_FALSE(digested);
  EXPECT_EQ(digested.error().message, read.error().message);
  // A region in other blocks is whole.
  Buffer tiny(4);
  const Shard::Target other{0, tiny};
  EXPECT_TRUE(shard->read({&other, 1}));
}

TEST(Shard, sha_finds_what_the_crc_was_made_to_fit) {
  MemoryStore store;
  const SampleRegions regions(kRank, 10);
  write(store, regions);
  const auto entry = digest_shard(store, kName, {});
  ASSERT_TRUE(entry);
  const ShardHeader header = Shard::open(store, kName)->header();
  const std::byte changed[1] = {std::byte{0x55}};
  ASSERT_TRUE(store.patch(kName, header.data_offset, changed));
  const Buffer file = test::read_all(store, kName);
  const std::uint32_t crc = crc32c(Bytes(file).subspan(header.data_offset, header.data_bytes));
  ASSERT_TRUE(store.patch(kName, header.crc_offset(), std::as_bytes(std::span(&crc, 1))));
  const auto shard = Shard::open(store, kName);
  Buffer into(regions.all()[0].bytes.size());
  const Shard::Target target{0, into};
  EXPECT_TRUE(shard->read({&target, 1}));
  const auto verified = verify_shard(store, kName, *entry, {});
  EXPECT_THAT(verified, Fails(Code::corrupt, {kName.path, "block 0", "1", "SHA-256"}));
}

TEST(Shard, verify_finds_every_flipped_byte_of_the_file) {
  MemoryStore store;
  write(store, SampleRegions(kRank, 3));
  const auto entry = digest_shard(store, kName, {});
  ASSERT_TRUE(entry) << entry.error().text();
  EXPECT_EQ(entry->rank, kRank);
  ASSERT_TRUE(verify_shard(store, kName, *entry, {}));
  for (std::uint64_t at = 0; at < entry->bytes; ++at) {
    ASSERT_TRUE(store.corrupt(kName, at));
    const auto verified = verify_shard(store, kName, *entry, {});
    ASSERT_THAT(verified, Fails(Code::corrupt, {kName.path})) << at;
    ASSERT_TRUE(store.corrupt(kName, at));
  }
  EXPECT_TRUE(verify_shard(store, kName, *entry, {}));
}

TEST(Shard, verify_tells_a_whole_shard_from_the_one_expected) {
  MemoryStore store;
  write(store, SampleRegions(kRank, 3));
  const auto entry = digest_shard(store, kName, {});
  ASSERT_TRUE(entry);
  auto other = *entry;
  other.digest.bytes[0] ^= std::byte{1};
  EXPECT_THAT(verify_shard(store, kName, other, {}),
              Fails(Code::corrupt, {kName.path, entry->digest.hex(), other.digest.hex()}));
  other = *entry;
  other.rank = {8};
  EXPECT_THAT(verify_shard(store, kName, other, {}), Fails(Code::corrupt, {kName.path, "rank 7", "rank 8"}));
}

TEST(Shard, has_the_same_digest_each_time_and_whoever_helps) {
  MemoryStore store;
  write(store, large_regions());
  Workers helpers(3);
  int calls = 0;
  const auto first = digest_shard(store, kName, [&] { ++calls; });
  const auto second = digest_shard(store, kName, helpers, {});
  ASSERT_TRUE(first && second);
  EXPECT_EQ(*first, *second);
  EXPECT_EQ(calls, 3) << "after each of 4 blocks but the last";
  EXPECT_TRUE(verify_shard(store, kName, *first, helpers, {}));
}

TEST(Shard, names_its_first_damaged_block_whoever_finds_it) {
  MemoryStore store;
  write(store, large_regions());
  const auto entry = digest_shard(store, kName, {});
  ASSERT_TRUE(entry);
  const std::uint64_t data = Shard::open(store, kName)->header().data_offset;
  for (const std::uint64_t block : {1, 2, 3}) {
    const Buffer wrong(1, std::byte{0xa5});
    ASSERT_TRUE(store.patch(kName, data + block * kMiB + 77, wrong));
  }
  Workers helpers(3);
  for (int turn = 0; turn < 20; ++turn) {
    const auto found = verify_shard(store, kName, *entry, helpers, {});
    ASSERT_FALSE(found);
    EXPECT_THAT(found, Fails(Code::corrupt, {"block 1"}));
  }
}

// Of a shard whose blocks have a CRC-32C and no more.
TEST(ShardWithoutShas, gives_back_what_was_written_and_is_shorter) {
  MemoryStore store;
  const SampleRegions regions = large_regions();
  const std::uint64_t with = write(store, regions);
  ASSERT_TRUE(write_shard(store, kName, test::sample_identity(kRank), regions.all(), BlockDigest::crc32c));
  expect_reads_back(store, regions);
  const auto entry = digest_shard(store, kName, {});
  ASSERT_TRUE(entry) << entry.error().text();
  EXPECT_EQ(entry->bytes, with - kShardAlignment);
  EXPECT_EQ(entry->bytes, test::read_all(store, kName).size());
  EXPECT_TRUE(verify_shard(store, kName, *entry, {}));
  const ShardHeader header = Shard::open(store, kName)->header();
  EXPECT_EQ(decode_shard_header(encode(header)).value(), header);
}

TEST(ShardWithoutShas, names_its_damage_by_read_and_by_verify) {
  MemoryStore store;
  ASSERT_TRUE(write_shard(store, kName, test::sample_identity(kRank), large_regions().all(), BlockDigest::crc32c));
  const ShardEntry entry = digest_shard(store, kName, {}).value();
  for (std::uint64_t at = 0; at < entry.bytes; at += at < 5 * kKiB ? 1 : 1009) {
    ASSERT_TRUE(store.corrupt(kName, at));
    EXPECT_EQ(verify_shard(store, kName, entry, {}).error().code, Code::corrupt) << at;
    ASSERT_TRUE(store.corrupt(kName, at));
  }
  const std::uint64_t data_offset = Shard::open(store, kName)->header().data_offset;
  ASSERT_TRUE(store.corrupt(kName, data_offset + 2 * kMiB + 5));
  EXPECT_THAT(verify_shard(store, kName, entry, {}), Fails(Code::corrupt, {"block 2", "4", "CRC-32C"}));
}

TEST(ShardWithoutShas, gets_no_digest_of_a_table_that_was_read_wrong) {
  MemoryStore store;
  ASSERT_TRUE(write_shard(store, kName, test::sample_identity(kRank), large_regions().all(), BlockDigest::crc32c));
  const ShardHeader header = Shard::open(store, kName)->header();
  for (const std::uint64_t at : {std::uint64_t{70}, kShardHeaderBytes + 3, header.crc_offset() + 6}) {
    ASSERT_TRUE(store.corrupt(kName, at));
    EXPECT_EQ(digest_shard(store, kName, {}).error().code, Code::corrupt) << at;
    ASSERT_TRUE(store.corrupt(kName, at));
  }
  EXPECT_TRUE(digest_shard(store, kName, {}));
}

TEST(ShardWithoutShas, has_a_digest_of_its_own_and_no_data_is_read_for_it) {
  MemoryStore store;
  ASSERT_TRUE(write_shard(store, kName, test::sample_identity(kRank), large_regions().all(), BlockDigest::crc32c));
  int pieces = 0;
  ASSERT_TRUE(digest_shard(store, kName, [&] { ++pieces; }));
  EXPECT_EQ(pieces, 0);
}

TEST(Shard, a_truncated_or_retired_file_is_refused_by_name) {
  MemoryStore store;
  const std::uint64_t size = write(store, SampleRegions(kRank, 3));
  ASSERT_TRUE(store.patch(kName, 0, Buffer(4096)));
  EXPECT_THAT(Shard::open(store, kName), Fails(Code::corrupt, {kName.path}));
  write(store, SampleRegions(kRank, 3));
  ASSERT_TRUE(store.truncate(kName, size - 1));
  EXPECT_THAT(Shard::open(store, kName),
              Fails(Code::corrupt, {kName.path, std::to_string(size - 1), std::to_string(size)}));
  ASSERT_TRUE(store.truncate(kName, 100));
  EXPECT_EQ(Shard::open(store, kName).error().code, Code::corrupt);
}

TEST(Shard, a_newer_format_says_so) {
  MemoryStore store;
  write(store, SampleRegions(kRank, 3));
  Buffer header = test::read_all(store, kName);
  header.resize(4096);
  header[8] = std::byte{5};
  const std::uint32_t crc = crc32c(Bytes(header).first(4092));
  std::memcpy(header.data() + 4092, &crc, 4);
  EXPECT_EQ(decode_shard_header(header).error().code, Code::newer_format);
  EXPECT_THAT(decode_shard_header(header), Fails(Code::newer_format, {"format 5", "4"}));
}

TEST(Shard, writing_refuses_what_it_could_not_read_back) {
  MemoryStore store;
  SampleRegions twice;
  twice.add({"a", ElementType::uint8, 1, "", {1}, {}, {}}, 1);
  twice.add({"a", ElementType::uint8, 1, "", {1}, {}, {}}, 1);
  const auto refused = write_shard(store, kName, test::sample_identity(kRank), twice.all());
  EXPECT_THAT(refused, Fails(Code::invalid_argument, {kName.path, "a"}));
  std::vector<test::RegionData> wrong{{{"b", ElementType::float64, 8, "", {3}, {}, {}}, {}}};
  EXPECT_THAT(write_shard(store, kName, test::sample_identity(kRank), wrong),
              Fails(Code::invalid_argument, {kName.path, "region 0", "0", "24"}));
}

TEST(Shard, a_full_store_is_an_error_and_leaves_nothing) {
  MemoryStore store(64 * kKiB);
  const auto written = write_shard(store, kName, test::sample_identity(kRank), large_regions().all());
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, Code::no_space);
  EXPECT_FALSE(store.open(kName));
}

TEST(Shard, a_hundred_thousand_regions_are_written_and_read_one_by_one) {
  MemoryStore store;
  SampleRegions regions;
  for (int i = 0; i < 100'000; ++i) {
    regions.add({"region " + std::to_string(i), ElementType::int32, 4, "", {3}, {}, {}}, static_cast<unsigned>(i));
  }
  write(store, regions);
  expect_reads_back(store, regions);
  const auto shard = Shard::open(store, kName);
  for (int i = 0; i < 100'000; ++i) {
    ASSERT_EQ(shard->find("region " + std::to_string(i)).value(), static_cast<std::size_t>(i));
  }
}

TEST(Region, shows_the_name_of_a_cpp_type_as_in_its_source_and_any_other_as_it_is) {
  const auto text_of = [](const std::string& type_name, std::uint32_t bytes = 24) {
    return RegionInfo{"particles", ElementType::opaque, bytes, type_name, {5}, {}, {}}.type_text();
  };
  EXPECT_EQ(text_of("8Particle"), "opaque(Particle, 24 B)[5]");
  EXPECT_EQ(text_of("N3sim8ParticleIdEE"), "opaque(sim::Particle<double>, 24 B)[5]");
  EXPECT_EQ(text_of("b", 1), "opaque(bool, 1 B)[5]");
  for (const std::string chosen : {"Particle", "particle", "b", "d", "i", "Vec3", "3", "", "8Partic"})
    EXPECT_EQ(text_of(chosen), "opaque(" + chosen + ", 24 B)[5]");
  const RegionInfo info{"particles", ElementType::opaque, 24, "8Particle", {5}, {}, {}};
  EXPECT_EQ(info.stored_type_text(), "opaque(8Particle, 24 B)[5]");
}

TEST(Region, does_not_write_out_a_type_name_that_repeats_its_parts_without_end) {
  std::string name = "1aI1b";
  const std::string digits = "0123456789ABCD";
  for (const char level : digits) name += std::string("S_IS") + level + "_S" + level + "_S" + level + "_E";
  EXPECT_LT((RegionInfo{"x", ElementType::opaque, 24, name + "E", {}, {}, {}}.type_text().size()), 1000U);
}

TEST(Region, check_names_what_is_wrong) {
  const RegionInfo good{"plate", ElementType::float64, 8, "", {2, 3}, {4, 3}, {2, 0}};
  EXPECT_TRUE(check(good));
  EXPECT_EQ(good.type_text(), "float64[2][3]");
  const auto refused = [&](auto change) {
    RegionInfo info = good;
    change(info);
    return check(info);
  };
  EXPECT_THAT(refused([](auto& r) { r.name = ""; }), Fails(Code::invalid_argument));
  EXPECT_THAT(refused([](auto& r) { r.name = std::string(256, 'x'); }), Fails(Code::invalid_argument));
  EXPECT_THAT(refused([](auto& r) { r.name = "a/b"; }), Fails(Code::invalid_argument, {"a/b"}));
  EXPECT_THAT(refused([](auto& r) { r.name = "."; }), Fails(Code::invalid_argument, {"."}));
  EXPECT_THAT(refused([](auto& r) { r.name = "a\n"; }), Fails(Code::invalid_argument));
  EXPECT_THAT(refused([](auto& r) { r.element_bytes = 4; }), Fails(Code::invalid_argument, {"plate", "4", "float64"}));
  EXPECT_THAT(refused([](auto& r) { r.type = static_cast<ElementType>(11); }),
              Fails(Code::invalid_argument, {"plate"}));
  EXPECT_THAT(refused([](auto& r) { r.global_offset = {3, 0}; }), Fails(Code::invalid_argument, {"plate"}));
  EXPECT_THAT(refused([](auto& r) { r.global_offset = {~0ULL, 0}; }), Fails(Code::invalid_argument, {"plate"}));
  EXPECT_THAT(refused([](auto& r) { r.global_shape = {4}; }), Fails(Code::invalid_argument, {"plate"}));
  EXPECT_THAT(refused([](auto& r) { r.ghosts_before = {1, 0}; }), Fails(Code::invalid_argument, {"plate", "ghosts"}));
  const auto with_ghosts = [](RegionInfo& r, std::uint64_t first) {
    r.shape = {5, 3};
    r.ghosts_before = {1, 0};
    r.ghosts_after = {2, 0};
    r.global_offset = {first, 0};
  };
  EXPECT_TRUE(refused([&](auto& r) { with_ghosts(r, 0); }));  // the first ghost lies outside
  EXPECT_TRUE(refused([&](auto& r) { with_ghosts(r, 2); }));
  EXPECT_THAT(refused([&](auto& r) { with_ghosts(r, 3); }), Fails(Code::invalid_argument, {"plate", "2", "at 3"}));
  EXPECT_THAT(refused([&](auto& r) {
                with_ghosts(r, 0);
                r.ghosts_after = {~0ULL, 0};
              }),
              Fails(Code::invalid_argument, {"plate", "too wide"}));
  EXPECT_THAT(refused([&](auto& r) {
                with_ghosts(r, 0);
                r.global_shape.clear();
                r.global_offset.clear();
              }),
              Fails(Code::invalid_argument, {"plate", "no part"}));
  EXPECT_THAT(refused([](auto& r) { r.shape = {1ULL << 40, 1ULL << 40}; }), Fails(Code::invalid_argument, {"plate"}));
  EXPECT_THAT(refused([](auto& r) {
                r.shape = {0, 1ULL << 40, 1ULL << 40};
              }),
              Fails(Code::invalid_argument, {"plate"}));
}

}  // namespace
}  // namespace cairn
