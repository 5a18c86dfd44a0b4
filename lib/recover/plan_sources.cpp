#include "recover/plan_sources.hpp"

#include <algorithm>
#include <string_view>
#include <tuple>

namespace cairn {

SnapshotSources::SnapshotSources(const Inventory& inventory, LayoutIndexes& indexes, const Identity& snapshot)
    : snapshot_(snapshot) {
  note_strikes(inventory.strikes);
  for (std::uint32_t head = 0; head < inventory.by_head.size(); ++head) {
    for (const HoldingSummary& summary : inventory.by_head[head]) {
      if (summary.snapshot == snapshot) note_holding(inventory, indexes, Peer{head}, summary);
    }
  }
  for (Parts& parts : parts_) {
    for (Grouped<Peer>* stores : {&parts.own, &parts.copies, &parts.parity}) {
      stores->close(static_cast<std::uint32_t>(parts.present.size()));
    }
  }
  global_ = !struck_.global_manifest && std::ranges::find(inventory.global, snapshot) != inventory.global.end();
}

void SnapshotSources::note_strikes(const std::set<Strike>& strikes) {
  const DirName dir = names::snapshot(snapshot_.version, snapshot_.run);
  const std::string prefix = dir.path + "/";
  for (const Strike& strike : strikes) {
    if (!strike.file.starts_with(prefix)) continue;
    const Peer holder{strike.holder};
    const std::string_view name = std::string_view(strike.file).substr(prefix.size());
    if (const auto rank = names::parse_shard(name)) struck_.shards.emplace(holder, *rank);
    if (const auto copy = names::parse_copy(name)) struck_.copies.emplace(holder, *copy);
    if (const auto parity = names::parse_parity(name)) struck_.parity.emplace(holder, *parity);
    if (strike.holder == Strike::kGlobal && strike.file == names::manifest(dir).path) struck_.global_manifest = true;
  }
}

SnapshotSources::Parts& SnapshotSources::parts_of(const Inventory& inventory, LayoutIndexes& indexes, LayoutId id) {
  const auto [it, is_new] = part_.emplace(id, parts_.size());
  if (!is_new) return parts_[it->second];
  Parts& parts = parts_.emplace_back();
  parts.id = id;
  parts.index = &indexes.try_emplace(id, inventory.layouts.at(id)).first->second;
  parts.present.resize(parts.index->layout().nodes);
  return parts;
}

void SnapshotSources::note_holding(const Inventory& inventory, LayoutIndexes& indexes, Peer head,
                                   const HoldingSummary& summary) {
  if (parts_.empty()) turn_ = summary.turn;
  Parts& parts = parts_of(inventory, indexes, summary.layout);
  const NodeId node = summary.node;
  parts.present[node.value] = true;
  if (summary.levels.has(LevelId::local)) parts.own.add(node.value, head);
  if (summary.levels.has(LevelId::erasure)) {
    parts.parity.add(node.value, head);
    parts.has_parity = true;
  }
  if (!summary.levels.has(LevelId::partner)) return;
  for (const NodeId owner : parts.index->owners_held_by(node, summary.turn)) parts.copies.add(owner.value, head);
}

std::vector<NodeId> SnapshotSources::lost_nodes() const {
  std::vector<NodeId> lost;
  if (parts_.empty()) return lost;
  const std::vector<bool>& present = parts_.front().present;
  for (std::uint32_t node = 0; node < present.size(); ++node) {
    if (!present[node]) lost.push_back(NodeId{node});
  }
  return lost;
}

void SnapshotSources::look_at(LevelSet levels) {
  if (levels == levels_) return;
  levels_ = levels;
  for (Parts& parts : parts_) {
    parts.volumes.clear();
    parts.decodes.clear();
  }
}

std::optional<Delivery> SnapshotSources::find(Rank rank, Peer to, LevelSet levels) {
  look_at(levels);
  if (auto file = best_file(rank, to, levels)) return file;
  if (levels.has(LevelId::erasure)) {
    if (auto decode = decoding(rank, to)) return decode;
  }
  return from_global(rank, to);
}

std::optional<Delivery> SnapshotSources::best_file(Rank rank, Peer to, LevelSet levels) const {
  struct Choice {
    int cost;
    Peer holder;
    LevelId level;
    const Parts* parts;
    NodeId owner;
  };
  std::optional<Choice> best;
  bool worth_it = false;
  const auto consider = [&](const Choice& choice) {
    worth_it |= levels.has(choice.level);
    if (!best || std::tie(choice.cost, choice.holder) < std::tie(best->cost, best->holder)) best = choice;
  };
  for (const Parts& parts : parts_) {
    const auto& node_of_rank = parts.index->layout().node_of_rank;
    if (rank.value >= node_of_rank.size()) continue;
    const NodeId owner = node_of_rank[rank.value];
    for (const Peer holder : parts.own.of(owner.value)) {
      if (has_shard(holder, rank)) consider({holder == to ? 0 : 2, holder, LevelId::local, &parts, owner});
    }
    for (const Peer holder : parts.copies.of(owner.value)) {
      if (has_copy(parts, holder, owner, rank))
        consider({holder == to ? 1 : 3, holder, LevelId::partner, &parts, owner});
    }
  }
  if (!worth_it) return {};
  return Delivery{rank, to, best->level, best->holder, best->parts->id, best->owner, {}};
}

std::optional<SnapshotSources::Volume> SnapshotSources::find_volume(const Parts& parts, NodeId node) const {
  const auto ranks = parts.index->ranks_on(node);
  if (ranks.empty()) return {};
  for (const Peer holder : parts.own.of(node.value)) {
    if (std::ranges::all_of(ranks, [&](Rank rank) { return has_shard(holder, rank); })) return Volume{holder, false};
  }
  if (!levels_.has(LevelId::partner)) return {};
  for (const Peer holder : parts.copies.of(node.value)) {
    if (std::ranges::all_of(ranks, [&](Rank rank) { return has_copy(parts, holder, node, rank); }))
      return Volume{holder, true};
  }
  return {};
}

const std::optional<SnapshotSources::Volume>& SnapshotSources::volume_of(Parts& parts, NodeId node) {
  const auto known = parts.volumes.find(node);
  if (known != parts.volumes.end()) return known->second;
  return parts.volumes.emplace(node, find_volume(parts, node)).first->second;
}

std::optional<Piece> SnapshotSources::parity_of(const Parts& parts, NodeId node, std::uint32_t column,
                                                std::uint32_t row) const {
  const auto holders = parts.parity.of(node.value);
  const auto good = std::ranges::find_if(holders, [&](Peer holder) {
    return !struck_.parity.contains({holder, {column, row, parts.id}});
  });
  if (good == holders.end()) return {};
  return Piece{row, *good, false};
}

// For each chunk of the owner's volume n − m inputs of its column: data first, which needs no arithmetic.
std::optional<SnapshotSources::Chunks> SnapshotSources::find_decode(Parts& parts, NodeId owner) {
  const Layout& layout = parts.index->layout();
  const Layout::Place place = parts.index->place_in_group(owner);
  if (place.group >= layout.groups.size()) return {};
  const auto& members = layout.groups[place.group];
  const ErasureShape shape{static_cast<std::uint32_t>(members.size()), layout.parity};
  Chunks chunks;
  for (std::uint32_t t = 0; t < shape.data(); ++t) {
    const std::uint32_t column = shape.column_of_chunk(place.index, t);
    auto& pieces = chunks.emplace_back();
    for (std::uint32_t row = 0; row < shape.data(); ++row) {
      const NodeId node = members[shape.data_holder(column, row)];
      if (node == owner) continue;
      if (const auto& volume = volume_of(parts, node)) pieces.push_back({row, volume->holder, volume->copies});
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

std::optional<Delivery> SnapshotSources::decoding(Rank rank, Peer to) {
  for (const auto& [id, position] : part_) {
    Parts& parts = parts_[position];
    const auto& node_of_rank = parts.index->layout().node_of_rank;
    if (!parts.has_parity || rank.value >= node_of_rank.size()) continue;
    const NodeId owner = node_of_rank[rank.value];
    auto known = parts.decodes.find(owner);
    if (known == parts.decodes.end()) known = parts.decodes.emplace(owner, find_decode(parts, owner)).first;
    if (known->second) return Delivery{rank, to, LevelId::erasure, to, id, owner, *known->second};
  }
  return {};
}

std::optional<Delivery> SnapshotSources::from_global(Rank rank, Peer to) const {
  if (!global_ || !has_shard(Peer{Strike::kGlobal}, rank)) return {};
  return Delivery{rank, to, LevelId::global, to, {}, {}, {}};
}

}  // namespace cairn
