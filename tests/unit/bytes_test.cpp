#include "base/bytes.hpp"

#include <gtest/gtest.h>

namespace cairn {
namespace {

TEST(Bytes, what_is_put_is_got_back_in_order) {
  ByteWriter out;
  out.put(std::uint32_t{7});
  out.put(-1.5);
  out.put_text("plate");
  out.put(std::uint8_t{255});
  ByteReader in(out.bytes());
  EXPECT_EQ(in.get<std::uint32_t>(), 7U);
  EXPECT_EQ(in.get<double>(), -1.5);
  EXPECT_EQ(in.get_text(), "plate");
  EXPECT_EQ(in.get<std::uint8_t>(), 255);
  EXPECT_TRUE(in.good());
  EXPECT_EQ(in.remaining(), 0U);
}

TEST(Bytes, numbers_are_little_endian) {
  ByteWriter out;
  out.put(std::uint32_t{0x01020304});
  ASSERT_EQ(out.size(), 4U);
  EXPECT_EQ(out.bytes()[0], std::byte{4});
  EXPECT_EQ(out.bytes()[3], std::byte{1});
}

TEST(Bytes, a_reader_past_its_end_turns_bad_and_stays_bad) {
  ByteWriter out;
  out.put(std::uint16_t{9});
  ByteReader in(out.bytes());
  EXPECT_EQ(in.get<std::uint32_t>(), 0U);
  EXPECT_FALSE(in.good());
  EXPECT_EQ(in.get<std::uint8_t>(), 0);
  EXPECT_FALSE(in.good());
}

TEST(Bytes, a_text_that_claims_more_than_there_is_turns_the_reader_bad) {
  ByteWriter out;
  out.put(std::uint32_t{0xffffffff});
  out.put(std::uint32_t{0});
  ByteReader in(out.bytes());
  EXPECT_EQ(in.get_text(), "");
  EXPECT_FALSE(in.good());
}

TEST(Bytes, a_byte_that_is_neither_true_nor_false_turns_the_reader_bad) {
  const Buffer bytes{std::byte{1}, std::byte{0}, std::byte{26}, std::byte{1}};
  ByteReader in(bytes);
  EXPECT_TRUE(in.get<bool>());
  EXPECT_FALSE(in.get<bool>());
  EXPECT_TRUE(in.good());
  EXPECT_FALSE(in.get<bool>());
  EXPECT_FALSE(in.good());
}

TEST(Bytes, padding_fills_with_zeros_and_never_cuts) {
  ByteWriter out;
  out.put(std::uint8_t{1});
  out.pad_to(4);
  EXPECT_EQ(out.bytes(), (Buffer{std::byte{1}, {}, {}, {}}));
  out.pad_to(2);
  EXPECT_EQ(out.size(), 4U);
}

TEST(Bytes, round_up_gives_the_next_multiple) {
  EXPECT_EQ(round_up(0, 4096), 0U);
  EXPECT_EQ(round_up(1, 4096), 4096U);
  EXPECT_EQ(round_up(4096, 4096), 4096U);
}

}  // namespace
}  // namespace cairn
