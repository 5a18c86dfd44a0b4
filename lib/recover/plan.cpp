#include "recover/plan.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/list_text.hpp"
#include "recover/plan_sources.hpp"
#include "recover/shard_homes.hpp"
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

const Delivery* arrived(const PlanRequest& request, const Plan& plan, Rank rank) {
  if (request.arrived_snapshot != plan.snapshot) return nullptr;
  const auto it = request.arrived.find(rank);
  return it == request.arrived.end() ? nullptr : &it->second;
}

// Fills in a delivery for each of the `ranks` of a snapshot that has a source, and returns the others. First come those
// that lie on a node with ranks. Copies are no shards there: a node would write them again to its own store, and its
// ranks would read them for all others.
std::vector<std::uint32_t> find_homes(const PlanRequest& request, SnapshotSources& sources, LevelSet levels,
                                      std::size_t ranks, Plan& plan) {
  constexpr Peer kNowhere{~std::uint32_t{0}};
  ShardHomes homes(request.today, ranks);
  std::vector<std::optional<Delivery>> found(ranks);
  std::vector<std::uint32_t> missing;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    if (const Delivery* there = arrived(request, plan, Rank{rank})) {
      found[rank] = *there;
    } else {
      const auto anywhere = sources.find(Rank{rank}, kNowhere, levels);
      const auto holder = anywhere ? anywhere->holder() : std::nullopt;
      if (!anywhere) missing.push_back(rank);
      if (holder && homes.has_ranks(*holder)) found[rank] = sources.find(Rank{rank}, *holder, levels);
      if (found[rank] && !found[rank]->in_place()) found[rank].reset();
    }
    if (found[rank]) homes.take(found[rank]->to);
  }
  plan.deliveries.clear();
  if (!missing.empty()) return missing;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    if (!found[rank]) {
      found[rank] = sources.find(Rank{rank}, homes.near(Rank{rank}), levels);
      homes.take(found[rank]->to);
    }
    plan.deliveries.push_back(*std::move(found[rank]));
  }
  return {};
}

// The same for as many ranks as the job has: each shard goes to the node of its rank.
std::vector<std::uint32_t> find_sources(const PlanRequest& request, SnapshotSources& sources, LevelSet levels,
                                        Plan& plan) {
  plan.deliveries.clear();
  std::vector<std::uint32_t> missing;
  for (std::uint32_t rank = 0; rank < request.today.node_of_rank.size(); ++rank) {
    if (const Delivery* there = arrived(request, plan, Rank{rank}))
      plan.deliveries.push_back(*there);
    else if (auto delivery = sources.find(Rank{rank}, Peer{request.today.node_of_rank[rank].value}, levels))
      plan.deliveries.push_back(std::move(*delivery));
    else
      missing.push_back(rank);
  }
  return missing;
}

// `ranks`: of the snapshot.
PlanOfOne plan_of(const PlanRequest& request, SnapshotSources& sources, const Identity& snapshot, std::size_t ranks) {
  PlanOfOne one{{snapshot, {}, sources.lost_nodes()}, {}};
  one.plan.of_other_ranks = ranks != request.today.node_of_rank.size();
  one.plan.aside = request.aside || one.plan.of_other_ranks;
  const auto find = [&](LevelSet levels) {
    return one.plan.of_other_ranks ? find_homes(request, sources, levels, ranks, one.plan)
                                   : find_sources(request, sources, levels, one.plan);
  };
  // A hint that proves wrong costs a second look, and nothing else.
  one.missing = find(hinted_levels(request, sources, one.plan.lost_nodes));
  if (!one.missing.empty()) one.missing = find(LevelSet::all());
  return one;
}

// For a snapshot of another number of ranks: those of its own ranks whose shards have no source.
std::vector<std::uint32_t> missing_of(SnapshotSources& sources, std::size_t ranks) {
  std::vector<std::uint32_t> missing;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    if (!sources.find(Rank{rank}, Peer{0}, LevelSet::all())) missing.push_back(rank);
  }
  return missing;
}

// As many ranks as the job has today, if nothing else is known.
std::size_t ranks_of(const PlanRequest& request, const SnapshotSources& sources, const Identity& snapshot) {
  if (const Layout* layout = sources.layout()) return layout->node_of_rank.size();
  const auto known = request.ranks.find(snapshot);
  return known == request.ranks.end() ? request.today.node_of_rank.size() : known->second;
}

// Whether the request is for this snapshot, or may be.
bool is_wanted(const PlanRequest& request, const Identity& snapshot) {
  if (snapshot.incarnation < request.not_before) return false;
  if (request.chosen.value != 0) return snapshot.version == request.chosen;
  return request.branch.has(snapshot) || request.branch.has_rejected(snapshot);
}

// By this life; or by an earlier one, which does not hinder who chooses it.
bool is_rejected(const PlanRequest& request, const Identity& snapshot) {
  return request.rejected.contains(snapshot) || (request.chosen.value == 0 && request.branch.has_rejected(snapshot));
}

// Versions that could be chosen, the oldest first.
std::set<Version> recoverable_versions(const PlanRequest& request) {
  std::set<Version> versions;
  const std::size_t ranks = request.today.node_of_rank.size();
  LayoutIndexes indexes;
  for (const Identity& snapshot : request.inventory.snapshots()) {
    if (snapshot.incarnation < request.not_before || request.rejected.contains(snapshot)) continue;
    SnapshotSources sources(request.inventory, indexes, snapshot);
    const std::size_t wrote = ranks_of(request, sources, snapshot);
    if (wrote != ranks && !request.elastic) continue;
    if (plan_of(request, sources, snapshot, wrote).missing.empty()) versions.insert(snapshot.version);
  }
  return versions;
}

Error not_available(const PlanRequest& request, const std::string& refusals) {
  std::string why = refusals.empty() ? fmt::format("there is no version {}", request.chosen.value)
                                     : fmt::format("the chosen {}", refusals);
  std::vector<std::uint32_t> others;
  for (const Version version : recoverable_versions(request)) others.push_back(version.value);
  if (others.empty()) return {Code::version_unavailable, why + ", nor another recoverable one", {}};
  return {Code::version_unavailable,
          fmt::format("{}; recoverable {}: {}", why, others.size() == 1 ? "is" : "are", fmt::join(others, ", ")),
          "choose one of these, or restore without a version"};
}

}  // namespace

Error wrong_number_of_ranks(const Identity& snapshot, std::size_t wrote, std::size_t ranks) {
  return {Code::mismatch,
          fmt::format("version {} was written by {} ranks (0 to {}); this job has {} (0 to {})", snapshot.version.value,
                      wrote, wrote - 1, ranks, ranks - 1),
          "start with the same number of application ranks, or set [restart] elastic = on; to give up the snapshot, "
          "start once with "
          "CAIRN_RESTART_MODE=fresh ([restart] mode = fresh)"};
}

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
  return plan_of(request, sources, snapshot, request.today.node_of_rank.size());
}

Result<Plan> make_plan(const PlanRequest& request) {
  std::string refusals;
  std::size_t tried = 0;
  const auto refuse = [&](const Identity& snapshot, const std::string& why) {
    ++tried;
    constexpr std::size_t kTold = 4;
    if (tried <= kTold)
      refusals += fmt::format("{}version {} {}", refusals.empty() ? "" : "; ", snapshot.version.value, why);
    if (tried == kTold + 1) refusals += "; older versions are not recoverable either";
  };
  const std::size_t ranks = request.today.node_of_rank.size();
  LayoutIndexes indexes;
  for (const Identity& snapshot : request.inventory.snapshots()) {
    if (!is_wanted(request, snapshot)) continue;
    if (is_rejected(request, snapshot)) {
      refuse(snapshot, "was rejected by close()");
      continue;
    }
    SnapshotSources sources(request.inventory, indexes, snapshot);
    PlanOfOne one;
    const std::size_t wrote = ranks_of(request, sources, snapshot);
    if (wrote != ranks && !request.elastic) {
      one = {{snapshot, {}, sources.lost_nodes()}, missing_of(sources, wrote)};
      if (one.missing.empty()) return fail(wrong_number_of_ranks(snapshot, wrote, ranks));
    } else {
      one = plan_of(request, sources, snapshot, wrote);
      if (one.missing.empty()) return std::move(one.plan);
    }
    refuse(snapshot, "has " + one.missing_text());
  }
  if (request.chosen.value != 0) return fail(not_available(request, refusals));
  if (tried == 0) return fail(Code::not_found, "there is no snapshot");
  return fail(Code::unrecoverable, "no snapshot is recoverable: " + refusals, cure_of_loss(false));
}

}  // namespace cairn
