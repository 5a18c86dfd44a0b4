#include "format/parity_file.hpp"

#include <gtest/gtest.h>

#include "codec/crc32c.hpp"
#include "store/memory/memory_store.hpp"
#include "support/facts.hpp"
#include "support/sample_parity.hpp"

namespace cairn {
namespace {

using test::Fails;

const ParityHeader kHeader{{{3}, {42}, {0xfeedULL}}, {0xabcdef01U}, 4, 1, 1ULL << 33U};

TEST(ParityHeader, comes_back_as_it_was_encoded) {
  const Buffer bytes = encode(kHeader);
  EXPECT_EQ(bytes.size(), kParityHeaderBytes);
  EXPECT_EQ(decode_parity_header(bytes).value(), kHeader);
}

TEST(ParityHeader, every_flipped_bit_is_found) {
  Buffer bytes = encode(kHeader);
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    bytes[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    ASSERT_FALSE(decode_parity_header(bytes)) << bit;
    bytes[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
  }
}

TEST(ParityHeader, what_is_no_parity_file_is_said_to_be_none) {
  Buffer bytes = encode(kHeader);
  EXPECT_THAT(decode_parity_header(Bytes(bytes).first(100)), Fails(Code::corrupt, {"4096", "100"}));
  EXPECT_THAT(decode_parity_header(Buffer(4096)), Fails(Code::corrupt));
  bytes[0] = std::byte{'X'};
  EXPECT_THAT(decode_parity_header(bytes), Fails(Code::corrupt, {"CAIRNPAR"}));
}

TEST(ParityHeader, a_newer_format_and_another_byte_order_say_so) {
  Buffer newer = encode(kHeader);
  newer[8] = std::byte{9};
  const std::uint32_t crc = crc32c(Bytes(newer).first(4092));
  std::memcpy(newer.data() + 4092, &crc, 4);
  EXPECT_THAT(decode_parity_header(newer), Fails(Code::newer_format, {"format 9", "2"}));
  Buffer swapped = encode(kHeader);
  std::swap(swapped[12], swapped[15]);
  std::swap(swapped[13], swapped[14]);
  EXPECT_THAT(decode_parity_header(swapped), Fails(Code::corrupt, {"04030201", "01020304"}));
}

// A store with the sample parity file, and what a manifest says of it.
struct StoredParity {
  MemoryStore store;
  FileName name{"parity"};
  ParityHeader header = test::sample_parity_header();
  ParityEntry entry;

  explicit StoredParity(const test::SampleParity& file = test::sample_parity()) : entry(file.entry) {
    EXPECT_TRUE(write_text(store, name, std::string(text_of(file.bytes))));
  }
  [[nodiscard]] Status verdict() const { return verify_parity_file(store, name, header, entry, {}); }
};

TEST(ParityFile, is_good_as_it_was_written_and_bad_with_any_byte_changed) {
  for (const BlockDigest digest : {BlockDigest::crc32c, BlockDigest::sha256}) {
    StoredParity parity(test::sample_parity(digest));
    EXPECT_TRUE(parity.verdict());
    for (std::uint64_t offset = 0; offset < parity.entry.bytes; ++offset) {
      ASSERT_TRUE(parity.store.corrupt(parity.name, offset));
      ASSERT_FALSE(parity.verdict()) << "byte " << offset;
      ASSERT_TRUE(parity.store.corrupt(parity.name, offset));
    }
    EXPECT_TRUE(parity.verdict()) << "corrupt() twice mends";
  }
}

TEST(ParityFile, names_its_bad_block) {
  ParityHeader header = test::sample_parity_header();
  header.chunk_bytes = 2 * kMiB + 64;
  StoredParity parity(test::parity_file(header, Buffer(header.chunk_bytes, std::byte{7})));
  parity.header = header;
  EXPECT_TRUE(parity.verdict());
  ASSERT_TRUE(parity.store.corrupt(parity.name, kParityHeaderBytes + kMiB));
  EXPECT_THAT(parity.verdict(), Fails(Code::corrupt, {"block 1", "3", "CRC-32C"}));
}

TEST(ParityFile, of_another_length_place_or_digest_is_refused_with_both) {
  StoredParity longer;
  ++longer.entry.bytes;
  EXPECT_THAT(longer.verdict(), Fails(Code::corrupt, {"4196", "4197"}));
  StoredParity moved;
  moved.header.column = 5;
  EXPECT_THAT(moved.verdict(), Fails(Code::corrupt, {"row 1", "column 2", "column 5", "version 42"}));
  StoredParity other;
  other.entry.digest = sha256(bytes_of("other"));
  EXPECT_THAT(other.verdict(), Fails(Code::corrupt, {other.entry.digest.hex()}));
}

}  // namespace
}  // namespace cairn
