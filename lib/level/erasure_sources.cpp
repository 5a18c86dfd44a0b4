#include "level/erasure_sources.hpp"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace cairn {
namespace {

using Parts = KnownParts::Parts;
using Chunks = std::vector<std::vector<Piece>>;  // as DecodedShard::chunks

// A store with all shards of a node, its own or copies of them.
struct Volume {
  Peer holder;
  bool copies = false;
};

// What is found out about a node is kept for all its ranks.
class DecodeFinder final : public SourceFinder {
 public:
  explicit DecodeFinder(const KnownParts& known) : known_(known), found_(known.parts().size()) {}

  std::optional<Found> find(Rank rank, Peer to) override {
    for (const auto& [id, position] : known_.positions()) {
      const Parts& parts = known_.parts()[position];
      const auto& node_of_rank = parts.index->layout().node_of_rank;
      if (parts.parity.by.empty() || rank.value >= node_of_rank.size()) continue;
      const NodeId owner = node_of_rank[rank.value];
      auto& decodes = found_[position].decodes;
      auto known = decodes.find(owner);
      if (known == decodes.end()) known = decodes.emplace(owner, find_decode(position, owner)).first;
      if (known->second) return Found{0, to, DecodedShard{id, owner, *known->second}};
    }
    return {};
  }

 private:
  // The results for one layout, as far as they were needed.
  struct FoundOut {
    std::map<NodeId, std::optional<Volume>> volumes;
    std::map<NodeId, std::optional<Chunks>> decodes;
  };

  [[nodiscard]] std::optional<Volume> find_volume(const Parts& parts, NodeId node) const {
    const auto ranks = parts.index->ranks_on(node);
    if (ranks.empty()) return {};
    for (const Peer holder : parts.own.of(node)) {
      const StoreId store = StoreId::node(holder);
      if (std::ranges::all_of(ranks, [&](Rank rank) { return known_.has_shard(store, rank); }))
        return Volume{holder, false};
    }
    if (!known_.is_worth_it(parts.copies)) return {};
    for (const Peer holder : parts.copies.of(node)) {
      const StoreId store = StoreId::node(holder);
      if (std::ranges::all_of(ranks, [&](Rank rank) { return known_.has_copy(store, {node, rank, parts.id}); }))
        return Volume{holder, true};
    }
    return {};
  }

  [[nodiscard]] const std::optional<Volume>& volume_of(std::size_t position, NodeId node) {
    auto& volumes = found_[position].volumes;
    const auto known = volumes.find(node);
    if (known != volumes.end()) return known->second;
    return volumes.emplace(node, find_volume(known_.parts()[position], node)).first->second;
  }

  [[nodiscard]] std::optional<Piece> parity_of(const Parts& parts, NodeId node, std::uint32_t column,
                                               std::uint32_t row) const {
    const auto holders = parts.parity.of(node);
    const auto good = std::ranges::find_if(holders, [&](Peer holder) {
      return known_.has_parity(StoreId::node(holder), {column, row, parts.id});
    });
    if (good == holders.end()) return {};
    return Piece{row, *good, false};
  }

  // Data first, which needs no arithmetic.
  [[nodiscard]] std::optional<Chunks> find_decode(std::size_t position, NodeId owner) {
    const Parts& parts = known_.parts()[position];
    const Layout& layout = parts.index->layout();
    const Layout::GroupPlace place = parts.index->place_in_group(owner);
    if (place.group >= layout.groups.size()) return {};
    const auto& members = layout.groups[place.group];
    const ErasureShape shape = layout.shape_of(place.group);
    Chunks chunks;
    for (std::uint32_t t = 0; t < shape.chunks(place.index); ++t) {
      const std::uint32_t column = shape.column_of_chunk(place.index, t);
      auto& pieces = chunks.emplace_back();
      for (std::uint32_t row = 0; row < shape.data(); ++row) {
        const NodeId node = members[shape.data_holder(column, row)];
        if (node == owner) continue;
        if (const auto& volume = volume_of(position, node)) pieces.push_back({row, volume->holder, volume->copies});
      }
      for (std::uint32_t row = 0; row < shape.m && pieces.size() < shape.data(); ++row) {
        auto piece = parity_of(parts, members[shape.parity_holder(column, row)], column, row);
        if (!piece) continue;
        piece->row += shape.data();
        pieces.push_back(*piece);
      }
      if (pieces.size() < shape.data()) return {};
    }
    return chunks;
  }

  const KnownParts& known_;
  std::vector<FoundOut> found_;  // as known_.parts()
};

}  // namespace

std::unique_ptr<SourceFinder> find_decodes(const KnownParts& known) { return std::make_unique<DecodeFinder>(known); }

}  // namespace cairn
