// What a head makes of other heads that say what cannot be: it refuses it, and takes none of it for less than was said.
#include <gtest/gtest.h>

#include "recover/chain.hpp"
#include "recover/inventory_codec.hpp"
#include "recover/roll_call.hpp"
#include "support/facts.hpp"
#include "support/sample_manifest.hpp"
#include "support/scripted_comm.hpp"

namespace cairn {
namespace {

using test::Fails;

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

Chain sample_chain() {
  Chain chain;
  chain.newest = {4};
  chain.global = {test::kManifestIdentity, test::kManifestIdentity};
  chain.mark = test::sample_chain_mark();
  chain.starts = {{1}, {3}};
  chain.choose({4}, {{{2}, {5}, {7}}, {9}});
  chain.measured = test::sample_measured();
  return chain;
}

Buffer told(const Chain& chain) {
  test::ScriptedComm zero(Peer{0}, 2, {});
  EXPECT_TRUE(share_chain(zero, chain));
  return zero.told();
}

Result<Chain> heard(Buffer bytes) {
  test::ScriptedComm one(Peer{1}, 2, {std::move(bytes)});
  return share_chain(one, {});
}

// Half a chain would be one with fewer snapshots, or with none.
TEST(Chain, that_is_cut_short_is_refused_wherever_it_is_cut) {
  const Buffer whole = told(sample_chain());
  ASSERT_TRUE(heard(whole));
  EXPECT_EQ(heard(whole)->global.size(), 2U);
  for (std::size_t length = 1; length < whole.size(); ++length) {
    EXPECT_FALSE(heard(Buffer(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length)))) << length;
  }
}

TEST(Chain, whose_mark_or_costs_are_damaged_is_refused) {
  Buffer whole = told(sample_chain());
  for (const std::string_view key : {"chain mark", "measured costs"}) {
    Buffer damaged = whole;
    const auto found = std::search(damaged.begin(), damaged.end(), bytes_of(key).begin(), bytes_of(key).end());
    ASSERT_NE(found, damaged.end());
    *found = std::byte{'x'};
    EXPECT_FALSE(heard(damaged)) << key;
  }
}

// Two heads, of which this is the second and holds nothing; the first has `dictionary`, and holds all of it.
Result<Inventory> inventory_with(const HoldingList& dictionary, const Layout& told) {
  const std::uint64_t longest = std::uint64_t{dictionary.size()} << 32U | ~std::uint32_t{0};
  test::ScriptedComm heads(Peer{1}, 2,
                           {bytes_of_words({longest}),
                            encode_holdings(dictionary),
                            encode_holdings_by(dictionary, dictionary),
                            encode(told),
                            {}});
  return gather_inventory(heads, StoreContents{}, test::sample_layout());
}

TEST(Inventory, of_a_node_that_its_layout_has_not_is_refused) {
  Layout other = test::sample_layout();
  other.copies = 2;
  HoldingSummary summary{test::kManifestIdentity, other.id(), {3}, {LevelId::local}};
  EXPECT_TRUE(inventory_with({summary}, other));
  summary.node = {4};
  const auto inventory = inventory_with({summary}, other);
  ASSERT_FALSE(inventory);
  EXPECT_THAT(inventory, Fails(Code::communication, {"node 4", "4"}));
}

TEST(Inventory, with_another_layout_than_was_asked_for_is_refused) {
  Layout other = test::sample_layout();
  other.copies = 2;
  EXPECT_FALSE(inventory_with({{test::kManifestIdentity, other.id(), {3}, {LevelId::local}}}, test::sample_layout()));
}

}  // namespace
}  // namespace cairn
