#include "codec/crc32c.hpp"

#include <random>

#include <gtest/gtest.h>

namespace cairn {
namespace {

Buffer random_bytes(std::size_t count) {
  std::mt19937_64 random(count);
  Buffer bytes(count);
  for (auto& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

TEST(Crc32c, agrees_with_the_vectors_of_rfc_3720) {
  EXPECT_EQ(crc32c(bytes_of("123456789")), 0xe3069283U);
  EXPECT_EQ(crc32c(Buffer(32, std::byte{0})), 0x8a9136aaU);
  EXPECT_EQ(crc32c(Buffer(32, std::byte{0xff})), 0x62a8ab43U);
  EXPECT_EQ(crc32c({}), 0U);
}

TEST(Crc32c, of_two_parts_is_that_of_the_whole) {
  const Buffer bytes = random_bytes(1000);
  for (const std::size_t cut : {0U, 1U, 7U, 500U, 999U, 1000U}) {
    EXPECT_EQ(crc32c(Bytes(bytes).subspan(cut), crc32c(Bytes(bytes).first(cut))), crc32c(bytes)) << cut;
  }
}

TEST(Crc32c, every_flipped_bit_changes_it) {
  Buffer bytes = random_bytes(64);
  const std::uint32_t right = crc32c(bytes);
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    bytes[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    EXPECT_NE(crc32c(bytes), right) << bit;
    bytes[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
  }
}

}  // namespace
}  // namespace cairn
