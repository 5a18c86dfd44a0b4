#include "recover/plan.hpp"

#include <algorithm>
#include <iterator>
#include <set>

#include <fmt/format.h>

#include "base/list_text.hpp"
#include "recover/plan_sources.hpp"
#include "recover/unreadable.hpp"

namespace cairn {
namespace {

// The levels to search if the hint is right: the nodes that it names, and whose part no store has, are gone.
LevelSet hinted_levels(const PlanRequest& request, const SnapshotSources& sources, const std::vector<NodeId>& lost) {
  if (sources.layout() == nullptr || request.lost_nodes.empty()) return LevelSet::all();
  const std::set<std::uint32_t> hinted(request.lost_nodes.begin(), request.lost_nodes.end());
  std::vector<NodeId> gone;
  std::ranges::copy_if(lost, std::back_inserter(gone), [&](NodeId node) { return hinted.contains(node.value); });
  LevelSet levels = request.inventory.levels.that_survive(*sources.layout(), gone, sources.turn());
  levels.add(request.inventory.levels.of_own_shards());  // survivors' own shards
  return levels;
}

// Fills in a delivery for every rank that has a source, and returns those that have none.
std::vector<std::uint32_t> find_sources(const PlanRequest& request, SnapshotSources& sources, LevelSet levels,
                                        Plan& plan) {
  plan.deliveries.clear();
  std::vector<std::uint32_t> missing;
  const bool some_arrived = request.arrived_snapshot == plan.snapshot;
  for (std::uint32_t rank = 0; rank < request.today.node_of_rank.size(); ++rank) {
    if (some_arrived) {
      if (const auto it = request.arrived.find(Rank{rank}); it != request.arrived.end()) {
        plan.deliveries.push_back(it->second);
        continue;
      }
    }
    if (auto delivery = sources.find(Rank{rank}, Peer{request.today.node_of_rank[rank].value}, levels))
      plan.deliveries.push_back(std::move(*delivery));
    else
      missing.push_back(rank);
  }
  return missing;
}

PlanOfOne plan_of(const PlanRequest& request, SnapshotSources& sources, const Identity& snapshot) {
  PlanOfOne one{{snapshot, {}, sources.lost_nodes()}, {}};
  // A hint that proves wrong costs a second look, and nothing else.
  const LevelSet hinted = hinted_levels(request, sources, one.plan.lost_nodes);
  one.missing = find_sources(request, sources, hinted, one.plan);
  if (!one.missing.empty()) one.missing = find_sources(request, sources, LevelSet::all(), one.plan);
  return one;
}

// For a snapshot of another number of ranks: those of its own ranks whose shards have no source.
std::vector<std::uint32_t> missing_of(SnapshotSources& sources, const Layout& written) {
  std::vector<std::uint32_t> missing;
  for (std::uint32_t rank = 0; rank < written.node_of_rank.size(); ++rank) {
    if (!sources.find(Rank{rank}, Peer{0}, LevelSet::all())) missing.push_back(rank);
  }
  return missing;
}

Error wrong_number_of_ranks(const Identity& snapshot, std::size_t wrote, std::size_t ranks) {
  return {Code::mismatch,
          fmt::format("version {} was written by {} ranks (0 to {}); this job has {} (0 to {})", snapshot.version.value,
                      wrote, wrote - 1, ranks, ranks - 1),
          "start with the same number of application ranks; to give up the snapshot, start once with "
          "CAIRN_RESTART_MODE=fresh ([restart] mode = fresh)"};
}

}  // namespace

std::string PlanOfOne::missing_text() const {
  std::string text = "no source for " + ranks_text(missing);
  const auto& lost = plan.lost_nodes;
  if (lost.empty()) return text;
  text += lost.size() == 1 ? " (node" : " (nodes";
  const char* separator = " ";
  for (const NodeId node : lost) {
    text += fmt::format("{}{}", separator, node.value);
    separator = ", ";
  }
  return text + (lost.size() == 1 ? " is lost)" : " are lost)");
}

PlanOfOne make_plan_of(const PlanRequest& request, const Identity& snapshot) {
  LayoutIndexes indexes;
  SnapshotSources sources(request.inventory, indexes, snapshot);
  return plan_of(request, sources, snapshot);
}

Result<Plan> make_plan(const PlanRequest& request) {
  std::string refusals;
  std::size_t tried = 0;
  const std::size_t ranks = request.today.node_of_rank.size();
  LayoutIndexes indexes;
  for (const Identity& snapshot : request.inventory.snapshots()) {
    if (snapshot.incarnation < request.not_before) continue;
    SnapshotSources sources(request.inventory, indexes, snapshot);
    PlanOfOne one;
    if (const Layout* layout = sources.layout(); layout != nullptr && layout->node_of_rank.size() != ranks) {
      one = {{snapshot, {}, sources.lost_nodes()}, missing_of(sources, *layout)};
      if (one.missing.empty()) return fail(wrong_number_of_ranks(snapshot, layout->node_of_rank.size(), ranks));
    } else {
      one = plan_of(request, sources, snapshot);
      if (one.missing.empty()) return std::move(one.plan);
    }
    ++tried;
    constexpr std::size_t kTold = 4;
    if (tried <= kTold)
      refusals +=
          fmt::format("{}version {} has {}", refusals.empty() ? "" : "; ", snapshot.version.value, one.missing_text());
    if (tried == kTold + 1) refusals += "; older versions are not recoverable either";
  }
  if (tried == 0) return fail(Code::not_found, "there is no snapshot");
  return fail(Code::unrecoverable, "no snapshot is recoverable: " + refusals, cure_of_loss(false));
}

}  // namespace cairn
