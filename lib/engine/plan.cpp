#include "engine/plan.hpp"

#include <algorithm>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "store/names.hpp"

namespace cairn {
namespace {

// Everything there is of one snapshot.
class Candidate {
 public:
  Candidate(const PlanRequest& request, const Identity& snapshot)
      : request_(request),
        inventory_(request.inventory),
        snapshot_(snapshot),
        dir_(names::snapshot(snapshot.version, snapshot.run)) {
    for (std::uint32_t head = 0; head < inventory_.by_head.size(); ++head) {
      for (const HoldingSummary& summary : inventory_.by_head[head]) {
        if (summary.snapshot == snapshot)
          holdings_.push_back({Peer{head}, &inventory_.layouts.at(summary.layout), summary});
      }
    }
    collect_files();
  }

  // The number of ranks that wrote it, as far as layouts tell.
  [[nodiscard]] std::optional<std::size_t> ranks() const {
    if (holdings_.empty()) return {};
    return holdings_.front().layout->node_of_rank.size();
  }

  // Levels worth looking at when the hint is right: nodes that it names and that no store stands for are gone.
  [[nodiscard]] LevelSet hinted_levels() const {
    LevelSet all = LevelSet::of_bits(0xff);
    if (holdings_.empty() || request_.lost_nodes.empty()) return all;
    std::vector<NodeId> gone;
    for (const NodeId node : lost_nodes()) {
      if (std::ranges::find(request_.lost_nodes, node.value) != request_.lost_nodes.end()) gone.push_back(node);
    }
    LevelSet levels = levels_that_survive(*holdings_.front().layout, gone, holdings_.front().summary.turn);
    levels.add(LevelId::local);  // survivors' own shards
    return levels;
  }

  [[nodiscard]] std::optional<Delivery> source(Rank rank, LevelSet levels) const {
    if (request_.arrived_snapshot == snapshot_) {
      if (const auto it = request_.arrived.find(rank); it != request_.arrived.end()) return it->second;
    }
    const Peer to{request_.today.node_of_rank[rank.value].value};
    if (auto file = best_file(rank, to, levels)) return file;
    if (levels.has(LevelId::erasure)) {
      if (auto decode = decoding(rank, to)) return decode;
    }
    return from_global(rank, to);
  }

  [[nodiscard]] std::vector<NodeId> lost_nodes() const {
    // The newest layout is that of the first holding met; all of a snapshot's layouts lose the same stores.
    if (holdings_.empty()) return {};
    const Layout& layout = *holdings_.front().layout;
    const LayoutId id = holdings_.front().summary.layout;
    std::vector<bool> seen(layout.nodes, false);
    for (const auto& holding : holdings_) {
      if (holding.summary.layout == id) seen[holding.summary.node.value] = true;
    }
    std::vector<NodeId> lost;
    for (std::uint32_t node = 0; node < layout.nodes; ++node) {
      if (!seen[node]) lost.push_back(NodeId{node});
    }
    return lost;
  }

 private:
  struct HoldingAt {
    Peer head;
    const Layout* layout;
    HoldingSummary summary;
  };
  struct File {
    Peer holder;
    LevelId level;
    FileName name;
    LayoutId layout;
    NodeId owner;
  };

  void collect_files() {
    for (const HoldingAt& at : holdings_) {
      const auto add = [&](NodeId owner, LevelId level, auto name_of) {
        for (const Rank rank : at.layout->ranks_on(owner)) {
          const FileName name = name_of(rank);
          if (!inventory_.struck(at.head.value, name))
            files_[rank].push_back({at.head, level, name, at.summary.layout, owner});
        }
      };
      if (at.summary.own) add(at.summary.node, LevelId::local, [&](Rank rank) { return names::shard(dir_, rank); });
      if (!at.summary.partner) continue;
      for (const NodeId owner : owners_held_by(*at.layout, at.summary.node, at.summary.turn)) {
        add(owner, LevelId::partner, [&](Rank rank) { return names::copy(dir_, {owner, rank, at.summary.layout}); });
      }
    }
  }

  [[nodiscard]] std::optional<Delivery> best_file(Rank rank, Peer to, LevelSet levels) const {
    const auto it = files_.find(rank);
    if (it == files_.end()) return {};
    if (std::ranges::none_of(it->second, [&](const File& file) { return levels.has(file.level); })) return {};
    const auto cost = [&](const File& file) {
      return (file.holder == to ? 0 : 2) + (file.level == LevelId::local ? 0 : 1);
    };
    const File& best = *std::ranges::min_element(it->second, {}, cost);
    return Delivery{rank, to, best.level, best.holder, best.name, best.layout, best.owner, {}};
  }

  // A store with all shards of a node, its own or copies of them.
  [[nodiscard]] std::optional<Piece> volume_of(NodeId node, LayoutId layout, std::uint32_t row) const {
    const auto ranks = inventory_.layouts.at(layout).ranks_on(node);
    for (const LevelId level : {LevelId::local, LevelId::partner}) {
      std::map<Peer, std::size_t> count;
      for (const Rank rank : ranks) {
        const auto it = files_.find(rank);
        if (it == files_.end()) break;
        for (const File& file : it->second) {
          if (file.level == level && file.layout == layout && file.owner == node) ++count[file.holder];
        }
      }
      for (const auto& [holder, files] : count) {
        if (files == ranks.size()) return Piece{row, holder, level == LevelId::partner};
      }
    }
    return {};
  }

  [[nodiscard]] std::optional<Piece> parity_of(NodeId node, LayoutId layout, std::uint32_t column, std::uint32_t row,
                                               std::uint32_t data) const {
    for (const HoldingAt& at : holdings_) {
      if (at.summary.layout != layout || at.summary.node != node || !at.summary.erasure) continue;
      if (!inventory_.struck(at.head.value, names::parity(dir_, {column, row, layout})))
        return Piece{data + row, at.head, false};
    }
    return {};
  }

  [[nodiscard]] std::optional<Delivery> decoding(Rank rank, Peer to) const {
    std::set<LayoutId> layouts;
    for (const HoldingAt& at : holdings_) {
      if (at.summary.erasure) layouts.insert(at.summary.layout);
    }
    for (const LayoutId id : layouts) {
      if (auto delivery = decoding_by(rank, to, id)) return delivery;
    }
    return {};
  }

  [[nodiscard]] std::optional<Delivery> decoding_by(Rank rank, Peer to, LayoutId id) const {
    const Layout& layout = inventory_.layouts.at(id);
    const NodeId owner = layout.node_of_rank[rank.value];
    const Layout::Place place = layout.place_in_group(owner);
    const auto& members = layout.groups[place.group];
    const ErasureShape shape{static_cast<std::uint32_t>(members.size()), layout.parity};
    Delivery delivery{rank, to, LevelId::erasure, to, {}, id, owner, {}};
    for (std::uint32_t t = 0; t < shape.data(); ++t) {
      const std::uint32_t column = shape.column_of_chunk(place.index, t);
      std::vector<Piece> pieces;
      for (std::uint32_t row = 0; row < shape.data() && pieces.size() < shape.data(); ++row) {
        const NodeId node = members[shape.data_holder(column, row)];
        if (node == owner) continue;
        if (auto piece = volume_of(node, id, row)) pieces.push_back(*piece);
      }
      for (std::uint32_t row = 0; row < shape.m && pieces.size() < shape.data(); ++row) {
        const NodeId node = members[shape.parity_holder(column, row)];
        if (auto piece = parity_of(node, id, column, row, shape.data())) pieces.push_back(*piece);
      }
      if (pieces.size() < shape.data()) return {};
      delivery.chunks.push_back(std::move(pieces));
    }
    return delivery;
  }

  [[nodiscard]] std::optional<Delivery> from_global(Rank rank, Peer to) const {
    if (std::ranges::find(inventory_.global, snapshot_) == inventory_.global.end()) return {};
    if (inventory_.struck(Strike::kGlobal, names::manifest(dir_)) ||
        inventory_.struck(Strike::kGlobal, names::shard(dir_, rank)))
      return {};
    return Delivery{rank, to, LevelId::global, to, {}, {}, {}, {}};
  }

  const PlanRequest& request_;
  const Inventory& inventory_;
  Identity snapshot_;
  DirName dir_;
  std::vector<HoldingAt> holdings_;
  std::map<Rank, std::vector<File>> files_;
};

std::string describe_missing(const Identity& snapshot, const std::vector<std::uint32_t>& missing,
                             const std::vector<NodeId>& lost) {
  constexpr std::size_t kShown = 16;
  const std::size_t shown = std::min(missing.size(), kShown);
  std::string text =
      fmt::format("version {}: no source for {} {}", snapshot.version.value, missing.size() == 1 ? "rank" : "ranks",
                  fmt::join(missing.begin(), missing.begin() + static_cast<std::ptrdiff_t>(shown), ", "));
  if (missing.size() > shown) text += fmt::format(" and {} more", missing.size() - shown);
  if (lost.empty()) return text;
  text += lost.size() == 1 ? ", node" : ", nodes";
  const char* separator = " ";
  for (const NodeId node : lost) {
    text += fmt::format("{}{}", separator, node.value);
    separator = ", ";
  }
  return text + " lost";
}

// Fills in a delivery for every rank that has a source, and returns those that have none.
std::vector<std::uint32_t> find_sources(const Candidate& candidate, std::size_t ranks, LevelSet levels, Plan& plan) {
  plan.deliveries.clear();
  std::vector<std::uint32_t> missing;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    if (auto delivery = candidate.source(Rank{rank}, levels))
      plan.deliveries.push_back(std::move(*delivery));
    else
      missing.push_back(rank);
  }
  return missing;
}

}  // namespace

Result<Plan> make_plan(const PlanRequest& request) {
  std::string refusals;
  std::size_t tried = 0;
  for (const Identity& snapshot : request.inventory.snapshots()) {
    if (snapshot.incarnation < request.not_before) continue;
    const Candidate candidate(request, snapshot);
    const std::size_t ranks = request.today.node_of_rank.size();
    if (const auto wrote = candidate.ranks(); wrote && *wrote != ranks) {
      return fail(Code::mismatch,
                  fmt::format("version {} was written by {} ranks (0 to {}); this job has {} (0 to {})",
                              snapshot.version.value, *wrote, *wrote - 1, ranks, ranks - 1),
                  "start with the same number of compute ranks, or set [restart] mode = fresh");
    }
    Plan plan{snapshot, {}, candidate.lost_nodes()};
    // A hint that proves wrong costs a second look, and nothing else.
    std::vector<std::uint32_t> missing = find_sources(candidate, ranks, candidate.hinted_levels(), plan);
    if (!missing.empty()) missing = find_sources(candidate, ranks, LevelSet::of_bits(0xff), plan);
    if (missing.empty()) return plan;
    ++tried;
    constexpr std::size_t kTold = 4;
    if (tried <= kTold)
      refusals += (refusals.empty() ? "" : "; ") + describe_missing(snapshot, missing, plan.lost_nodes);
    if (tried == kTold + 1) refusals += "; and older ones";
  }
  if (tried == 0) return fail(Code::not_found, "there is no snapshot");
  return fail(Code::unrecoverable, "no snapshot is whole: " + refusals,
              "bring the lost nodes' stores back, or set [restart] mode = fresh to start anew");
}

LevelSet levels_that_survive(const Layout& layout, const std::vector<NodeId>& lost, std::uint64_t turn) {
  const std::set<NodeId> gone(lost.begin(), lost.end());
  LevelSet levels;
  levels.add(LevelId::global);
  if (gone.empty()) levels.add(LevelId::local);
  const bool partners_hold = layout.copies > 0 && std::ranges::all_of(gone, [&](NodeId node) {
                               return std::ranges::any_of(partners_of(layout, node, turn),
                                                          [&](NodeId partner) { return !gone.contains(partner); });
                             });
  if (partners_hold) levels.add(LevelId::partner);
  const bool groups_hold = !layout.groups.empty() && std::ranges::all_of(layout.groups, [&](const auto& group) {
    return std::ranges::count_if(group, [&](NodeId node) { return gone.contains(node); }) <= layout.parity;
  });
  if (groups_hold) levels.add(LevelId::erasure);
  return levels;
}

}  // namespace cairn
