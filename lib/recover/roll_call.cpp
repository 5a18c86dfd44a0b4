#include "recover/roll_call.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include "base/sha256.hpp"
#include "recover/inventory_codec.hpp"
#include "store/names.hpp"

namespace cairn {
namespace {

constexpr std::size_t kMostHoldings = 16;
constexpr std::size_t kListWords = kMostHoldings * 28 / sizeof(std::uint64_t);  // as encode_holdings() writes them

// All words are reduced to their maximum. A word that must be equal on all heads is sent with its complement. The two
// maxima are complements of each other only if all heads that sent a value sent the same one. A head without a value
// sends zeros.
struct Words {
  std::uint64_t failed = 0;
  std::uint64_t newest = 0;
  std::uint64_t highest_version = 0;
  std::uint64_t turns = 0;
  std::uint64_t unlike = 0;      // this store's holdings cannot be described by a list that also fits other stores
  std::uint64_t unreported = 0;  // it is empty but not named as lost, or it is named as lost but not empty
  std::uint64_t unreadable = 0;
  std::uint64_t newest_readable = 0;
  std::uint64_t chain = 0;
  std::uint64_t not_chain = 0;
  std::uint64_t topology = 0;  // a digest of the failure topology
  std::uint64_t not_topology = 0;
  std::uint64_t holdings = 0;  // their number, and a digest of them
  std::uint64_t digest = 0;
  std::uint64_t not_digest = 0;
  std::uint64_t mark_unknown = 0;
  // 1 + the highest arrangement of today's shape in which this store is the same node as now; and 1 + the highest
  // arrangement in which this store is another node.
  std::uint64_t same_place = 0;
  std::uint64_t other_place = 0;
  std::array<std::uint64_t, kListWords> list{};
};
constexpr std::size_t kWords = sizeof(Words) / sizeof(std::uint64_t);

// The first digest that a process takes costs it a millisecond, for OpenSSL: a job that starts takes none.
std::uint64_t digest_of(Bytes bytes) {
  return bytes.empty() ? 0 : ByteReader(sha256(bytes).bytes).get<std::uint64_t>();
}

// Whether everything in a store belongs to node `me`, in layouts with one node per head.
bool stands_for(const StoreContents& contents, NodeId me, std::uint32_t heads) {
  return std::ranges::all_of(contents.manifests, [&](const NodeManifest& manifest) {
    return std::ranges::all_of(
        manifest.holdings, [&](const Holding& holding) { return holding.node == me && holding.layout.nodes == heads; });
  });
}

void note_readable(Words& words, const Identity& snapshot) {
  words.newest_readable = std::max<std::uint64_t>(words.newest_readable, snapshot.version.value);
}

void put_numbers(Words& words, const RollAnswer& mine) {
  words.newest = mine.chain.newest.value;
  words.highest_version = std::max(mine.chain.highest_version, mine.contents.highest_version).value;
  words.unreadable = mine.contents.unreadable.empty() && mine.chain.unreadable.empty() ? 0 : 1;
  words.mark_unknown = mine.contents.mark_unknown ? 1 : 0;
  if (mine.contents.mark) {
    words.chain = mine.contents.mark->id.value;
    words.not_chain = ~words.chain;
  }
  const SharedSnapshots shared = mine.chain.shared(mine.contents.levels);
  for (const auto& [level, snapshots] : shared) {
    for (const Identity& snapshot : snapshots) {
      note_readable(words, snapshot);
      // Its life may no longer have a record: with a lower number, the next snapshot would count as older than this
      // one.
      words.newest = std::max<std::uint64_t>(words.newest, snapshot.incarnation.value);
    }
  }
  for (const NodeManifest& manifest : mine.contents.manifests) {
    note_readable(words, manifest.identity);
    words.newest = std::max<std::uint64_t>(words.newest, manifest.identity.incarnation.value);
    for (const Holding& holding : manifest.holdings) {
      if (const auto turn = mine.contents.levels.turn_of(holding)) words.turns = std::max(words.turns, *turn + 1);
    }
  }
}

void put_arrangement(Words& words, const RollAnswer& mine, NodeId me) {
  if (mine.shape == nullptr) return;
  PlacesOfShape places{mine.shape->shape()};
  for (const NodeManifest& manifest : mine.contents.manifests) places.note(manifest, me);
  words.same_place = places.same;
  words.other_place = places.other;
}

void put_topology(Words& words, const RollAnswer& mine, NodeId me, bool holds) {
  std::vector<std::uint32_t> lost = mine.lost_nodes;
  std::ranges::sort(lost);
  words.unreported = std::ranges::binary_search(lost, me.value) != holds ? 0 : 1;
  words.topology = digest_of(std::as_bytes(std::span(lost)));
  words.not_topology = ~words.topology;
}

void put_holdings(Words& words, const RollAnswer& mine, HoldingList holdings, NodeId me, std::uint32_t heads) {
  if (holdings.empty()) return;
  if (holdings.size() > kMostHoldings || !mine.contents.strikes.empty() || !stands_for(mine.contents, me, heads)) {
    words.unlike = 1;
    words.holdings = 1;
    return;
  }
  for (HoldingSummary& summary : holdings) summary.node = NodeId{};
  const Buffer list = encode_holdings(holdings);
  words.holdings = holdings.size();
  words.digest = digest_of(list);
  words.not_digest = ~words.digest;
  std::memcpy(words.list.data(), list.data(), list.size());
}

// Words that no head sends: a list that is longer than its room, or a number above its maximum.
bool cannot_be(const Words& words) {
  return words.holdings > kMostHoldings || std::max({words.newest, words.highest_version, words.newest_readable,
                                                     words.same_place, words.other_place}) > names::kLastNumber;
}

Result<RollCall> read(const Words& words) {
  if (cannot_be(words))
    return fail_internal(Code::communication, "the answers of the heads to the roll call have impossible numbers");
  RollCall roll;
  roll.newest.value = static_cast<std::uint32_t>(words.newest);
  roll.highest_version.value = static_cast<std::uint32_t>(words.highest_version);
  roll.turns = words.turns;
  roll.chain.value = words.chain;
  roll.one_chain = words.chain == 0 || words.chain == ~words.not_chain;
  roll.unreadable = words.unreadable != 0;
  roll.mark_unknown = words.mark_unknown != 0;
  roll.newest_readable.value = static_cast<std::uint32_t>(words.newest_readable);
  roll.arrangement = PlacesOfShape{{}, words.same_place, words.other_place}.arrangement();
  roll.any_holdings = words.holdings > 0;
  roll.as_expected = words.unreported == 0 && words.topology == ~words.not_topology;
  if (!roll.any_holdings) {
    roll.common.emplace();
  } else if (words.unlike == 0 && words.digest == ~words.not_digest) {
    const Bytes list = std::as_bytes(std::span(words.list));
    auto holdings = decode_holdings(list.first(words.holdings * (list.size() / kMostHoldings)));
    if (!holdings) return fail(holdings.error());
    roll.common = std::move(*holdings);
  }
  return roll;
}

}  // namespace

void PlacesOfShape::note(const NodeManifest& manifest, NodeId me) {
  for (const Holding& holding : manifest.holdings) {
    if (holding.layout.shape() != shape) continue;
    std::uint64_t& highest = holding.node == me ? same : other;
    highest = std::max(highest, std::uint64_t{holding.layout.arrangement} + 1);
  }
}

Result<RollCall> call_roll(Comm& heads, const RollAnswer& mine) {
  Words words;
  const NodeId me{heads.rank().value};
  words.failed = mine.status ? 0 : 1;
  put_numbers(words, mine);
  put_arrangement(words, mine, me);
  HoldingList holdings = mine.contents.summaries();
  put_topology(words, mine, me, !holdings.empty());
  put_holdings(words, mine, std::move(holdings), me, heads.size());
  auto reduced = std::bit_cast<std::array<std::uint64_t, kWords>>(words);
  if (auto status = heads.allreduce(reduced, Reduce::max); !status)
    return fail(mine.status ? status.error() : mine.status.error());
  words = std::bit_cast<Words>(reduced);
  if (words.failed != 0) {
    auto status = agree(heads, mine.status, "node");
    if (!status) return fail(status.error());
    return fail_internal(Code::communication, "heads disagree whether one of them failed");
  }
  return read(words);
}

}  // namespace cairn
