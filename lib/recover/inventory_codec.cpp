#include "recover/inventory_codec.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

namespace cairn {
namespace {

// In a dictionary's list each entry has half a byte: that it is here, and at which of the lowest three levels.
constexpr unsigned kHere = 8;
constexpr unsigned kInHalfAByte = kHere - 1;

// Levels as a number: the lowest level is its lowest bit.
unsigned number_of(LevelSet levels) { return levels.bits() >> 1U; }
LevelSet levels_of(unsigned number) { return LevelSet::of_bits(static_cast<std::uint8_t>(number << 1U)); }

void put(ByteWriter& out, const HoldingSummary& s) {
  out.put(s.snapshot.incarnation.value);
  out.put(s.snapshot.version.value);
  out.put(s.snapshot.run.value);
  out.put(s.layout.value);
  out.put(s.node.value);
  out.put(static_cast<std::uint32_t>(number_of(s.levels) | s.turn << 8U));
}

HoldingSummary get(ByteReader& in) {
  HoldingSummary s;
  s.snapshot.incarnation.value = in.get<std::uint32_t>();
  s.snapshot.version.value = in.get<std::uint32_t>();
  s.snapshot.run.value = in.get<std::uint64_t>();
  s.layout.value = in.get<std::uint32_t>();
  s.node.value = in.get<std::uint32_t>();
  const auto levels_and_turn = in.get<std::uint32_t>();
  s.levels = levels_of(levels_and_turn);
  s.turn = levels_and_turn >> 8U;
  return s;
}

// The holding that an entry of the dictionary describes for a node that has these levels of it.
HoldingSummary by_entry(const HoldingSummary& entry, NodeId node, LevelSet levels, LevelSet turning) {
  return {entry.snapshot, entry.layout, node, levels, (levels & turning).empty() ? 0 : entry.turn};
}

// The node that most of a store's holdings belong to.
NodeId usual_node(const HoldingList& holdings) {
  std::map<NodeId, std::size_t> count;
  for (const HoldingSummary& s : holdings) ++count[s.node];
  const auto most = std::ranges::max_element(count, {}, [](const auto& entry) { return entry.second; });
  return most == count.end() ? NodeId{} : most->first;
}

tl::unexpected<Error> fail_truncated() {
  return fail_internal(Code::communication, "a list of a node's files is truncated");
}

}  // namespace

Buffer encode_holdings(const HoldingList& holdings) {
  ByteWriter out;
  for (const HoldingSummary& s : holdings) put(out, s);
  return out.take();
}

Result<HoldingList> decode_holdings(Bytes bytes) {
  ByteReader in(bytes);
  HoldingList holdings;
  while (in.good() && in.remaining() > 0) holdings.push_back(get(in));
  if (!in.good()) return fail_truncated();
  return holdings;
}

Buffer encode_holdings_by(const HoldingList& dictionary, const HoldingList& holdings, LevelSet turning) {
  std::map<std::pair<Identity, LayoutId>, std::size_t> entry_of;
  for (std::size_t i = 0; i < dictionary.size(); ++i) {
    entry_of.try_emplace({dictionary[i].snapshot, dictionary[i].layout}, i);
  }
  const NodeId node = usual_node(holdings);
  std::vector<std::uint8_t> here((dictionary.size() + 1) / 2);
  ByteWriter others;
  std::size_t next = 0;  // entries are used in the dictionary's order, so that the list keeps its own order
  for (std::size_t position = 0; position < holdings.size(); ++position) {
    const HoldingSummary& s = holdings[position];
    const auto found = entry_of.find({s.snapshot, s.layout});
    const std::size_t entry = found == entry_of.end() ? dictionary.size() : found->second;
    const unsigned levels = number_of(s.levels);
    if (entry < next || entry == dictionary.size() || levels > kInHalfAByte ||
        by_entry(dictionary[entry], node, s.levels, turning) != s) {
      others.put(static_cast<std::uint16_t>(position));
      put(others, s);
      continue;
    }
    here[entry / 2] |= static_cast<std::uint8_t>((kHere | levels) << (entry % 2 * 4));
    next = entry + 1;
  }
  ByteWriter out;
  out.put(node.value);
  out.put(std::as_bytes(std::span(here)));
  out.put(others.bytes());
  return out.take();
}

Result<HoldingList> decode_holdings_by(const HoldingList& dictionary, Bytes bytes, LevelSet turning) {
  ByteReader in(bytes);
  const NodeId node{in.get<std::uint32_t>()};
  const Bytes here = in.get_bytes((dictionary.size() + 1) / 2);
  if (!in.good()) return fail_truncated();
  HoldingList holdings;
  for (std::size_t entry = 0; entry < dictionary.size(); ++entry) {
    const unsigned flags = std::to_integer<unsigned>(here[entry / 2]) >> (entry % 2 * 4);
    if ((flags & kHere) != 0)
      holdings.push_back(by_entry(dictionary[entry], node, levels_of(flags & kInHalfAByte), turning));
  }
  while (in.good() && in.remaining() > 0) {
    const auto position = in.get<std::uint16_t>();
    const HoldingSummary other = get(in);
    if (!in.good() || position > holdings.size()) return fail_truncated();
    holdings.insert(holdings.begin() + position, other);
  }
  return holdings;
}

}  // namespace cairn
