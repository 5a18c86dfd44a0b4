// What a member answers to an order, in a buffer that was used before.
#include <gtest/gtest.h>

#include "reshape/order.hpp"

namespace cairn::reshape {
namespace {

TEST(Order, that_is_damaged_has_an_answer_without_boxes) {
  const Holdings nothing;
  const Order of_nobody{0, {{0, Rank{3}, range(0, 8)}, {0, Rank{3}, range(8, 8)}}};
  for (const std::optional<Order>& order : {std::optional<Order>(), std::optional(of_nobody)}) {
    for (const std::byte before : {std::byte{0}, std::byte{2}}) {
      Buffers buffers;
      buffers.give_back(Buffer(64 * kKiB, before));
      const SentAnswer sent = answer(order, nothing, buffers);
      ASSERT_LE(sent.size_bytes, longest_answer(0, 0));
      Buffer received(longest_answer(2, 16), before);
      copy_bytes(Bytes(sent.buffer).first(sent.size_bytes), received);
      const Answer answer = read_answer(received, 2, 16);
      EXPECT_TRUE(answer.is_bad.empty());
      ASSERT_TRUE(answer.error);
      EXPECT_EQ(answer.error->message, "an order of another rank is damaged");
    }
  }
}

TEST(Buffers, are_used_again_if_they_are_large_enough) {
  Buffers buffers;
  Buffer first = buffers.take(1000);
  const std::byte* const pages = first.data();
  EXPECT_GE(first.size(), 1000U);
  buffers.give_back(std::move(first));
  Buffer smaller = buffers.take(500);
  EXPECT_EQ(smaller.data(), pages);
  EXPECT_NE(buffers.take(500).data(), pages);
  buffers.give_back(std::move(smaller));
  EXPECT_GE(buffers.take(2000).size(), 2000U);
}

}  // namespace
}  // namespace cairn::reshape
