// Messages survive the way in parts, whatever their length; what is incomplete or too long does not come.
#include "engine/parts.hpp"

#include <gtest/gtest.h>

namespace cairn::test {
namespace {

Buffer message(std::size_t length) {
  Buffer bytes(length);
  for (std::size_t i = 0; i < length; ++i) bytes[i] = static_cast<std::byte>(i * 7);
  return bytes;
}

TEST(Parts, join_to_what_was_cut) {
  PartJoiner joiner(kMiB);
  for (const std::size_t length : {std::size_t{0}, std::size_t{1}, kMostPartBytes - 1, kMostPartBytes,
                                   kMostPartBytes + 1, 3 * kMostPartBytes, std::size_t{100'000}}) {
    const auto parts = cut_into_parts(message(length));
    for (std::size_t i = 0; i + 1 < parts.size(); ++i) EXPECT_FALSE(joiner.take(Peer{1}, parts[i])) << length;
    EXPECT_EQ(joiner.take(Peer{1}, parts.back()), message(length)) << length;
    for (const Buffer& part : parts) EXPECT_LE(part.size(), kMostPartBytes + 1);
  }
}

TEST(Parts, of_several_senders_do_not_mix) {
  PartJoiner joiner(kMiB);
  const auto one = cut_into_parts(message(2000));
  const auto other = cut_into_parts(message(1500));
  EXPECT_FALSE(joiner.take(Peer{1}, one.front()));
  EXPECT_FALSE(joiner.take(Peer{2}, other.front()));
  EXPECT_EQ(joiner.take(Peer{1}, one.back()), message(2000));
  EXPECT_EQ(joiner.take(Peer{2}, other.back()), message(1500));
}

TEST(Parts, of_a_message_whose_beginning_or_end_is_missing_are_dropped) {
  PartJoiner joiner(kMiB);
  const auto parts = cut_into_parts(message(2000));
  EXPECT_FALSE(joiner.take(Peer{1}, parts.back()));
  EXPECT_FALSE(joiner.take(Peer{1}, parts.front()));
  EXPECT_FALSE(joiner.take(Peer{1}, parts.front()));
  EXPECT_EQ(joiner.take(Peer{1}, parts.back()), message(2000));
  EXPECT_FALSE(joiner.take(Peer{1}, {}));
}

TEST(Parts, of_a_message_that_is_too_long_are_dropped) {
  PartJoiner joiner(3000);
  std::size_t messages = 0;
  for (const Buffer& part : cut_into_parts(message(5000))) messages += joiner.take(Peer{1}, part) ? 1U : 0U;
  EXPECT_EQ(messages, 0U);
  const auto parts = cut_into_parts(message(1000));
  EXPECT_EQ(joiner.take(Peer{1}, parts.front()), message(1000));
}

}  // namespace
}  // namespace cairn::test
