// What a head makes of other heads that say what cannot be: it refuses it, and takes none of it for less than was said.
#include <gtest/gtest.h>

#include "engine/roll_call.hpp"
#include "support/scripted_comm.hpp"

namespace cairn {
namespace {

Buffer bytes_of_words(const std::vector<std::uint64_t>& words) {
  const Bytes bytes = std::as_bytes(std::span(words));
  return {bytes.begin(), bytes.end()};
}

Result<RollCall> roll_call_with(std::vector<std::uint64_t> others) {
  test::ScriptedComm heads(Peer{0}, 2, {bytes_of_words(others)});
  const StoreContents contents;
  const std::vector<std::uint32_t> lost;
  return call_roll(heads, {Status{}, contents, Chain{}, lost});
}

TEST(RollCall, with_a_number_that_cannot_be_is_refused) {
  EXPECT_TRUE(roll_call_with({0, 4, 9}));
  for (const auto& others : {std::vector<std::uint64_t>{0, 1ULL << 32U}, {0, 4, 1ULL << 40U}}) {
    const auto roll = roll_call_with(others);
    ASSERT_FALSE(roll);
    EXPECT_EQ(roll.error().code, Code::communication);
  }
}

// The number of holdings is the 13th word, and their digest the two that follow.
TEST(RollCall, with_more_holdings_than_its_list_has_room_for_is_refused) {
  std::vector<std::uint64_t> others(15);
  others[13] = 77;
  others[14] = ~others[13];
  others[12] = 17;
  EXPECT_FALSE(roll_call_with(others));
  others[12] = 16;
  EXPECT_TRUE(roll_call_with(others));
}

}  // namespace
}  // namespace cairn
