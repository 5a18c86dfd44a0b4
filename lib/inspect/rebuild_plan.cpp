#include "inspect/rebuild_plan.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "format/parity_file.hpp"
#include "level/erasure_level.hpp"
#include "level/parity_writer.hpp"
#include "store/names.hpp"

namespace cairn {
namespace {

// What the manifests of a snapshot say together of its newest layout.
struct Known {
  const Layout& layout;
  LayoutId id;
  std::map<Rank, ShardEntry> entries;
  std::uint64_t safe_point = 0;
  SnapshotNotes notes;
  std::set<std::uint64_t> turns;                          // of promotions to L2
  bool erasure = false;                                   // some node has parity
  std::map<std::uint32_t, const ErasureHolding*> groups;  // their tables
};

class RebuildPlanner {
 public:
  RebuildPlanner(const JobStores& stores, const Survey& survey, const SnapshotAudit& audit)
      : stores_(stores),
        survey_(survey),
        audit_(audit),
        snapshot_(audit.view.identity),
        dir_(names::snapshot(snapshot_)),
        known_{audit.view.layout,
               audit.view.layout.id(),
               entries_of(survey, snapshot_),
               0,
               audit.view.notes,
               {},
               false,
               {}} {
    plan_.snapshot = snapshot_;
  }

  RebuildPlan run() {
    note_shared_damage();
    if (has_unjudged()) return std::move(plan_);
    learn();
    if (!is_in_node_stores_) return std::move(plan_);
    if (!audit_.recovery.possible) {
      plan_.left.push_back({NotRebuilt::Why::no_source, {}, lost_ranks()});
      return std::move(plan_);
    }
    find_stores();
    for (const auto& [holder, node] : node_of_) plan_part(holder, node);
    return std::move(plan_);
  }

 private:
  static bool is_unknown(Finding::State state) {
    return state == Finding::State::newer || state == Finding::State::untrusted || state == Finding::State::unreadable;
  }

  void note_shared_damage() {
    for (const Finding& finding : audit_.findings) {
      const bool bad = finding.state == Finding::State::damaged || finding.state == Finding::State::missing;
      if (bad && finding.holder.is_shared() && !finding.file.path.empty())
        plan_.left.push_back({NotRebuilt::Why::in_shared_store, {}, finding});
    }
  }

  // A file that cannot be judged may be good, and must not be replaced.
  bool has_unjudged() {
    bool found = false;
    for (const Finding& finding : audit_.findings) {
      if (!is_unknown(finding.state) || finding.file.path.empty() || finding.holder.is_shared()) continue;
      plan_.left.push_back({NotRebuilt::Why::cannot_judge, {}, finding});
      found = true;
    }
    return found;
  }

  Finding lost_ranks() const {
    Finding finding{Finding::State::missing, snapshot_, {}, {}, {}, {}, 0, {}, audit_.recovery.why_not};
    std::set<Rank> found;
    for (const Delivery& delivery : audit_.recovery.sources) found.insert(delivery.rank);
    for (std::uint32_t rank = 0; rank < known_.layout.node_of_rank.size(); ++rank) {
      if (!found.contains(Rank{rank})) finding.ranks.push_back(Rank{rank});
    }
    return finding;
  }

  [[nodiscard]] bool is_bad(StoreId holder, const FileName& file) const {
    return std::ranges::any_of(audit_.findings, [&](const Finding& finding) {
      return finding.holder == holder && finding.file == file && finding.state != Finding::State::good;
    });
  }

  // Null: there is none, or it says what is wrong.
  [[nodiscard]] const NodeManifest* good_manifest(StoreId holder) const {
    return is_bad(holder, names::manifest(dir_)) ? nullptr : find_manifest(survey_, holder, snapshot_);
  }

  void learn() {
    for (const StoreId holder : survey_.node_stores()) {
      const NodeManifest* manifest = find_manifest(survey_, holder, snapshot_);
      is_in_node_stores_ |= manifest != nullptr;
      if (manifest == nullptr || good_manifest(holder) == nullptr) continue;
      known_.safe_point = std::max(known_.safe_point, manifest->safe_point);
      // Owners know best.
      for (const Holding& holding : manifest->holdings) {
        if (!holding.own) continue;
        for (const ShardEntry& shard : *holding.own) known_.entries.insert_or_assign(shard.rank, shard);
      }
      const Holding* holding = manifest->find(known_.id);
      if (holding == nullptr) continue;
      if (holding->partner) known_.turns.insert(holding->partner->turn);
      if (!holding->erasure) continue;
      known_.erasure = true;
      known_.groups.emplace(known_.layout.place_in_group(holding->node).group, &*holding->erasure);
    }
  }

  // By what other snapshots of the same layout say of the store.
  [[nodiscard]] std::optional<NodeId> node_by_others(StoreId holder) const {
    for (const NodeManifest& manifest : survey_.by_store[holder.head()]) {
      if (const Holding* holding = manifest.find(known_.id)) return holding->node;
    }
    return {};
  }

  // No matter which node it stands for then.
  [[nodiscard]] bool is_empty(StoreId holder) const {
    return survey_.by_store[holder.head()].empty() &&
           std::ranges::none_of(survey_.findings, [&](const Finding& finding) { return finding.holder == holder; });
  }

  // Which node each store stands for.
  void find_stores() {
    std::set<NodeId> absent;
    for (std::uint32_t node = 0; node < known_.layout.nodes; ++node) absent.insert(NodeId{node});
    std::vector<StoreId> free;
    const auto take = [&](StoreId holder, std::optional<NodeId> node) {
      if (!node || absent.erase(*node) == 0) return false;
      node_of_.emplace(holder, *node);
      return true;
    };
    for (const StoreId holder : survey_.node_stores()) {
      const NodeManifest* manifest = find_manifest(survey_, holder, snapshot_);
      const Holding* holding = manifest == nullptr ? nullptr : manifest->find(known_.id);
      if (holding == nullptr)
        free.push_back(holder);
      else
        take(holder, holding->node);
    }
    std::erase_if(free, [&](StoreId holder) { return take(holder, node_by_others(holder)); });
    const bool all_empty = std::ranges::all_of(free, [&](StoreId holder) { return is_empty(holder); });
    if (all_empty || (absent.size() == 1 && free.size() == 1)) {
      while (!free.empty() && !absent.empty()) {
        take(free.front(), *absent.begin());
        free.erase(free.begin());
      }
    }
    if (absent.empty()) return;
    plan_.left.push_back(
        {free.empty() ? NotRebuilt::Why::no_store : NotRebuilt::Why::which_store, {absent.begin(), absent.end()}, {}});
  }

  [[nodiscard]] std::vector<ShardEntry> entries_on(NodeId node) const {
    std::vector<ShardEntry> entries;
    for (const Rank rank : known_.layout.ranks_on(node)) entries.push_back(known_.entries.at(rank));
    return entries;
  }

  [[nodiscard]] ErasureHolding erasure_of(NodeId node) const {
    const auto [group, index] = known_.layout.place_in_group(node);
    const auto& members = known_.layout.groups[group];
    const ErasureShape shape = known_.layout.shape_of(group);
    ErasureHolding erasure;
    if (const auto tables = known_.groups.find(group); tables != known_.groups.end()) {
      erasure.chunk_bytes = tables->second->chunk_bytes;
      erasure.members = tables->second->members;
    } else {
      std::vector<std::uint64_t> volumes;
      for (const NodeId member : members) {
        erasure.members.push_back(entries_on(member));
        volumes.push_back(volume_bytes(erasure.members.back()));
      }
      erasure.chunk_bytes = chunk_bytes(volumes, shape);
    }
    for (std::uint32_t row = 0; shape.holds_parity(index) && row < shape.m; ++row) {
      ParityHeader header{snapshot_, known_.id, shape.column_of_parity(index, row), row, erasure.chunk_bytes};
      header.digest = digest_for(stores_.sealer.has_key(), nullptr, header);
      erasure.parity.push_back({header.column, row, header.file_bytes(), {}});
    }
    return erasure;
  }

  // Adds what other nodes have at a level, and this one has not.
  void complete(Holding& holding) {
    if (!holding.own) holding.own = entries_on(holding.node);
    if (!holding.partner && known_.turns.size() == 1) {
      PartnerHolding partner{*known_.turns.begin(), {}};
      for (const NodeId owner : owners_held_by(known_.layout, holding.node, partner.turn))
        partner.held.push_back({owner, entries_on(owner)});
      holding.partner = std::move(partner);
    } else if (!holding.partner && known_.turns.size() > 1) {
      plan_.left.push_back({NotRebuilt::Why::several_turns, {holding.node}, {}});
    }
    if (!holding.erasure && known_.erasure) holding.erasure = erasure_of(holding.node);
  }

  void plan_part(StoreId holder, NodeId node) {
    const NodeManifest* before = good_manifest(holder);
    RebuiltPart part{
        holder, node, before == nullptr ? NodeManifest{snapshot_, known_.safe_point, {}, known_.notes} : *before,
        false,  {},   0};
    if (part.manifest.find(known_.id) == nullptr)
      part.manifest.holdings.insert(part.manifest.holdings.begin(), Holding{known_.layout, node, {}, {}, {}});
    complete(*part.manifest.find(known_.id));
    part.changes_manifest = before == nullptr || part.manifest != *before;
    std::set<FileName> good;
    if (before != nullptr) {
      for (const NamedFile& file : stores_.levels.files(*before)) {
        if (!is_bad(holder, file.name)) good.insert(file.name);
      }
    }
    for (const NamedFile& file : stores_.levels.files(part.manifest)) {
      if (!good.insert(file.name).second) continue;
      part.files.push_back(file.name);
      part.bytes += file.bytes();
    }
    if (part.changes_manifest || !part.files.empty()) plan_.parts.push_back(std::move(part));
  }

  const JobStores& stores_;
  const Survey& survey_;
  const SnapshotAudit& audit_;
  Identity snapshot_;
  DirName dir_;
  Known known_;
  bool is_in_node_stores_ = false;
  std::map<StoreId, NodeId> node_of_;
  RebuildPlan plan_;
};

}  // namespace

std::uint64_t RebuildPlan::bytes() const {
  std::uint64_t sum = 0;
  for (const RebuiltPart& part : parts) sum += part.bytes;
  return sum;
}

std::uint64_t RebuildPlan::files() const {
  std::uint64_t sum = 0;
  for (const RebuiltPart& part : parts) sum += part.files.size();
  return sum;
}

RebuildPlan plan_rebuild(const JobStores& stores, const Survey& survey, const SnapshotAudit& audit) {
  return RebuildPlanner(stores, survey, audit).run();
}

}  // namespace cairn
