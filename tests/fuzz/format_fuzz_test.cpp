// Damaged files, thousands of each kind and the same in every run, given to everything that parses one. A parser
// may refuse, and must not crash, run off the end (the sanitizers' presets see that), or allocate without bound.
// What a checksum covers is never accepted damaged.
#include <random>

#include <gtest/gtest.h>

#include "codec/crc32c.hpp"
#include "format/manifest.hpp"
#include "format/parity_file.hpp"
#include "format/shard.hpp"
#include "store/memory_store.hpp"
#include "support/sample_manifest.hpp"
#include "support/sample_parity.hpp"
#include "support/sample_shard.hpp"

namespace cairn {
namespace {

constexpr Rank kRank{2};
const FileName kShard = names::shard(test::sample_dir(), kRank);

// One to four changes of the kinds that disks, networks and people make.
class Mutator {
 public:
  explicit Mutator(std::uint64_t seed) : random_(seed) {}

  Buffer operator()(Buffer bytes) {
    for (std::uint64_t i = 0, changes = 1 + below(4); i < changes && !bytes.empty(); ++i) change(bytes);
    return bytes;
  }
  std::uint64_t below(std::uint64_t limit) { return random_() % limit; }

 private:
  void change(Buffer& bytes) {
    const std::uint64_t at = below(bytes.size());
    const std::uint64_t count = std::min<std::uint64_t>(1 + below(64), bytes.size() - at);
    const auto from = bytes.begin() + static_cast<std::ptrdiff_t>(at);
    const auto to = from + static_cast<std::ptrdiff_t>(count);
    switch (below(7)) {
      case 0: bytes[at] ^= static_cast<std::byte>(1U << below(8)); break;
      case 1: bytes[at] = static_cast<std::byte>(random_()); break;
      case 2: std::fill(from, to, std::byte{0}); break;
      case 3: std::fill(from, to, std::byte{0xff}); break;
      case 4: bytes.resize(at); break;
      case 5: bytes.erase(from, to); break;
      default: bytes.insert(from, count, static_cast<std::byte>(random_())); break;
    }
  }

  std::mt19937_64 random_;
};

Buffer sample_shard() {
  MemoryStore store;
  EXPECT_TRUE(write_shard(store, kShard, test::sample_identity(kRank), test::SampleRegions(kRank, 3).all()));
  EXPECT_TRUE(digest_shard(store, kShard, {}));
  return test::read_all(store, kShard);
}

void store_as(MemoryStore& store, const FileName& name, const Buffer& bytes) {
  ASSERT_TRUE(write_text(store, name, std::string(text_of(bytes))));
}

// Makes the header's checksum right again, so that what is behind it is reached.
void fit_header_crc(MutableBytes header) {
  const std::uint32_t crc = crc32c(Bytes(header).first(4092));
  std::memcpy(header.data() + 4092, &crc, 4);
}

TEST(FormatFuzz, a_damaged_shard_header_is_never_accepted) {
  const Buffer file = sample_shard();
  const Buffer header(file.begin(), file.begin() + 4096);
  for (std::uint64_t seed = 0; seed < 20'000; ++seed) {
    const Buffer damaged = Mutator(seed)(header);
    if (damaged == header) continue;
    ASSERT_FALSE(decode_shard_header(damaged)) << seed;
  }
}

TEST(FormatFuzz, a_damaged_parity_header_is_never_accepted) {
  const Buffer header = encode(test::sample_parity_header());
  for (std::uint64_t seed = 0; seed < 20'000; ++seed) {
    const Buffer damaged = Mutator(seed)(header);
    if (damaged == header) continue;
    ASSERT_FALSE(decode_parity_header(damaged)) << seed;
  }
}

TEST(FormatFuzz, a_damaged_shard_is_never_verified) {
  const Buffer file = sample_shard();
  MemoryStore store;
  store_as(store, kShard, file);
  const ShardEntry entry = digest_shard(store, kShard, {}).value();
  for (std::uint64_t seed = 0; seed < 5'000; ++seed) {
    const Buffer damaged = Mutator(seed)(file);
    if (damaged == file) continue;
    store_as(store, kShard, damaged);
    ASSERT_FALSE(verify_shard(store, kShard, entry, {})) << seed;
  }
}

TEST(FormatFuzz, a_header_of_any_numbers_is_refused_or_makes_sense) {
  const Buffer file = sample_shard();
  MemoryStore store;
  for (std::uint64_t seed = 0; seed < 10'000; ++seed) {
    Buffer damaged = file;
    std::mt19937_64 random(seed);
    for (int i = 0; i < 2; ++i) {
      // A number of 4 or 8 bytes among the fields, with any count of leading zeros.
      const std::uint64_t value = random() >> (random() % 64);
      const std::size_t at = 16 + 4 * (random() % 16);
      std::memcpy(damaged.data() + at, &value, random() % 2 == 0 ? 4 : 8);
    }
    fit_header_crc(MutableBytes(damaged).first(4096));
    const auto header = decode_shard_header(Bytes(damaged).first(4096));
    if (header) {
      EXPECT_LE(header->data_offset, header->crc_offset()) << seed;
      EXPECT_LE(header->sha_offset(), header->file_bytes()) << seed;
    }
    store_as(store, kShard, damaged);
    const auto shard = Shard::open(store, kShard);
    if (!shard) continue;
    for (const auto& region : shard->regions()) {
      ASSERT_LE(region.offset + region.info.size_bytes(), damaged.size()) << seed;
    }
  }
}

TEST(FormatFuzz, a_region_table_of_any_bytes_is_refused_or_lies_within_the_data) {
  const Buffer file = sample_shard();
  const ShardHeader right = decode_shard_header(Bytes(file).first(4096)).value();
  const Buffer table(file.begin() + 4096, file.begin() + 4096 + static_cast<std::ptrdiff_t>(right.table_bytes));
  int accepted = 0;
  for (std::uint64_t seed = 0; seed < 50'000; ++seed) {
    const Buffer damaged = Mutator(seed)(table);
    ShardHeader header = right;
    header.table_bytes = damaged.size();
    header.table_crc = crc32c(damaged);
    const auto regions = decode_region_table(damaged, header);
    if (!regions) continue;
    ++accepted;
    std::uint64_t end = header.data_offset;
    for (const auto& region : *regions) {
      ASSERT_TRUE(check(region.info)) << seed;
      ASSERT_GE(region.offset, end) << seed;
      end = region.offset + region.info.size_bytes();
      ASSERT_LE(end, header.data_offset + header.data_bytes) << seed;
    }
  }
  // Names can change without a contradiction: the mutations do reach the end of the parser.
  EXPECT_GT(accepted, 10);
}

template <class Parse>
void fuzz_text(const std::string& text, Parse parse) {
  const Buffer bytes(bytes_of(text).begin(), bytes_of(text).end());
  for (std::uint64_t seed = 0; seed < 20'000; ++seed) {
    const Buffer damaged = Mutator(seed)(bytes);
    const auto parsed = parse(std::string(text_of(damaged)));
    if (!parsed) {
      ASSERT_EQ(parsed.error().code, Code::corrupt) << seed;
      ASSERT_FALSE(parsed.error().message.empty()) << seed;
      continue;
    }
    ASSERT_TRUE(seal_of(text) == Seal::none || damaged == bytes) << seed;
    // What was accepted is a manifest: it can be written and read again.
    ASSERT_EQ(parse(to_json(*parsed)).value(), *parsed) << seed;
  }
}

// With its seal, which tells every change, and as format 1 was, without one.
template <class Parse>
void fuzz_both(const std::string& text, Parse parse) {
  fuzz_text(text, parse);
  fuzz_text(test::as_format_1(text), parse);
}

TEST(FormatFuzz, a_damaged_node_manifest_is_refused_or_a_whole_one) {
  fuzz_both(to_json(test::sample_node_manifest()), parse_node_manifest);
}

TEST(FormatFuzz, a_damaged_global_manifest_is_refused_or_a_whole_one) {
  fuzz_both(to_json(test::sample_global_manifest()), parse_global_manifest);
}

TEST(FormatFuzz, a_damaged_run_record_is_refused_or_a_whole_one) {
  fuzz_both(to_json(test::sample_run_record()), parse_run_record);
}

TEST(FormatFuzz, a_damaged_chain_mark_is_refused_or_a_whole_one) {
  fuzz_both(to_json(test::sample_chain_mark()), parse_chain_mark);
}

TEST(FormatFuzz, a_damaged_file_of_costs_is_refused_or_a_whole_one) {
  fuzz_both(to_json(test::sample_measured()), parse_measured);
}

TEST(FormatFuzz, deeply_nested_text_is_refused) {
  EXPECT_FALSE(parse_node_manifest(std::string(200'000, '[')));
  EXPECT_FALSE(parse_run_record(std::string(100'000, '[') + std::string(100'000, ']')));
  std::string objects;
  for (int i = 0; i < 50'000; ++i) objects += R"({"holdings":)";
  EXPECT_FALSE(parse_global_manifest(objects));
}

}  // namespace
}  // namespace cairn
