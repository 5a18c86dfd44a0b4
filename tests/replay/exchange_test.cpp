// Messages to some of the ranks, in one piece or in several.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "replay/exchange.hpp"
#include "support/thread_cluster.hpp"

namespace cairn::test {
namespace {

Buffer bytes_for(std::uint32_t from, std::uint32_t to, std::size_t size) {
  Buffer bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(31 * from + 7 * to + i);
  return bytes;
}

class Exchange : public testing::TestWithParam<std::size_t> {};

// An empty message is one, too.
TEST_P(Exchange, brings_what_each_rank_is_sent) {
  run_cluster(4, [](Comm& world) {
    const std::uint32_t me = world.rank().value;
    const auto size = [](std::uint32_t from, std::uint32_t to) -> std::size_t { return 10 * (from * to % 4); };
    std::map<std::uint32_t, Buffer> out;
    for (std::uint32_t to = me; to < 4; ++to) out[to] = bytes_for(me, to, size(me, to));
    const auto in = replay::exchange(world, out, GetParam());
    ASSERT_TRUE(in);
    EXPECT_EQ(in->size(), me + 1);
    for (const auto& [from, bytes] : *in) EXPECT_EQ(bytes, bytes_for(from, me, size(from, me))) << from;
  });
}

INSTANTIATE_TEST_SUITE_P(in_pieces_of, Exchange, testing::Values(1, 7, 10, 1000),
                         [](const auto& info) { return std::to_string(info.param) + "_bytes"; });

}  // namespace
}  // namespace cairn::test
