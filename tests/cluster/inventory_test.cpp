// What heads tell each other of their holdings: it must come back exactly, and in few bytes.
#include <algorithm>

#include <gtest/gtest.h>

#include "recover/inventory_codec.hpp"

namespace cairn::test {
namespace {

HoldingList sample_holdings(std::uint32_t snapshots, std::uint32_t node) {
  HoldingList list;
  for (std::uint32_t version = 1; version <= snapshots; ++version) {
    HoldingSummary summary{{{1}, {version}, {77}}, {5}, {node}, {LevelId::local}};
    if (version % 2 == 0) summary.levels.add(LevelId::partner);
    if (version % 2 == 0) summary.turn = version / 2 % 3;
    if (version % 4 == 0) summary.levels.add(LevelId::erasure);
    list.push_back(summary);
  }
  return list;
}

void expect_to_come_back(const HoldingList& dictionary, const HoldingList& list) {
  const auto back = decode_holdings_by(dictionary, encode_holdings_by(dictionary, list));
  ASSERT_TRUE(back) << back.error().text();
  EXPECT_EQ(*back, list);
}

TEST(Inventory, a_list_of_holdings_comes_back_exactly_whatever_the_dictionary) {
  const HoldingList dictionary = sample_holdings(9, 2);
  expect_to_come_back(dictionary, {});
  expect_to_come_back({}, dictionary);
  expect_to_come_back(dictionary, dictionary);
  expect_to_come_back(dictionary, sample_holdings(12, 7));  // newer ones than the dictionary has
  HoldingList backwards = dictionary;
  std::ranges::reverse(backwards);
  expect_to_come_back(dictionary, backwards);
  for (std::size_t i = 0; i < dictionary.size(); ++i) {
    HoldingList list = sample_holdings(9, 3);
    list[i].node = {4};
    expect_to_come_back(dictionary, list);
    list[i] = {dictionary[i].snapshot, {6}, {3}, {LevelId::local}, 0};  // another layout
    expect_to_come_back(dictionary, list);
    list[i] = {dictionary[i].snapshot, {5}, {3}, {LevelId::partner}, 7};  // another placement
    expect_to_come_back(dictionary, list);
    list.insert(list.begin() + static_cast<std::ptrdiff_t>(i), list[i]);
    expect_to_come_back(dictionary, list);
    list.erase(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(i));
    expect_to_come_back(dictionary, list);
  }
}

TEST(Inventory, a_store_that_lost_some_or_stands_for_another_node_costs_no_more_bytes) {
  const HoldingList dictionary = sample_holdings(50, 2);
  HoldingList some = sample_holdings(50, 6);
  std::erase_if(some, [](const HoldingSummary& s) { return s.snapshot.version.value % 3 == 0; });
  for (HoldingSummary& s : some) s.levels.remove(LevelId::erasure);
  expect_to_come_back(dictionary, some);
  EXPECT_EQ(encode_holdings_by(dictionary, some).size(), 4U + 25U);
}

TEST(Inventory, a_list_of_holdings_that_is_cut_short_is_refused) {
  const HoldingList dictionary = sample_holdings(3, 2);
  const Buffer good = encode_holdings_by(dictionary, sample_holdings(5, 2));
  std::uint32_t refused = 0;
  for (std::size_t length = 0; length < good.size(); ++length) {
    const auto read = decode_holdings_by(dictionary, Bytes(good).first(length));
    refused += read ? 0 : 1;
  }
  EXPECT_EQ(refused, good.size() - 2) << "all but those that end with a whole holding";
}

}  // namespace
}  // namespace cairn::test
