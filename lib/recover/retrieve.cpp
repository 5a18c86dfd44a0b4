#include "recover/retrieve.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "comm/share.hpp"
#include "format/checked_shard.hpp"
#include "format/manifest.hpp"
#include "level/erasure_decode.hpp"
#include "store/names.hpp"

namespace cairn {
namespace {

const NodeManifest* manifest_of(const RetrieveState& state, const Identity& snapshot) {
  for (const NodeManifest& manifest : state.manifests) {
    if (manifest.identity == snapshot) return &manifest;
  }
  return nullptr;
}

// Before a plan takes anything from the global store: is the manifest there good, and of as many ranks? Notes in the
// plan which nodes are lost when only that manifest can tell.
Result<bool> check_global(Comm& heads, const NodeContext& node, Plan& plan, std::vector<Strike>& strikes) {
  Status status;
  std::uint32_t nodes = 0;  // 0: not good
  if (heads.rank().value == 0) {
    const auto manifest = read_global_manifest(*node.global, node.dir(plan.snapshot), node.sealer);
    if (!manifest || manifest->identity != plan.snapshot) {
      node.log.warning(
          "{}", manifest ? node.global->where() + ": a manifest is that of another snapshot" : manifest.error().text());
      strikes.push_back({Strike::kGlobal, names::manifest(node.dir(plan.snapshot)).path});
    } else if (manifest->shards.size() != node.layout.node_of_rank.size()) {
      status = fail(Code::mismatch,
                    fmt::format("version {} was written by {} ranks (0 to {}); this job has {} (0 to {})",
                                plan.snapshot.version.value, manifest->shards.size(), manifest->shards.size() - 1,
                                node.layout.node_of_rank.size(), node.layout.node_of_rank.size() - 1),
                    "start with the same number of compute ranks, or set [restart] mode = fresh");
    } else {
      nodes = manifest->layout.nodes;
    }
  }
  ByteWriter found;
  found.put(nodes);
  auto shared = share(heads, status ? Result<Buffer>(found.take()) : fail(status.error()), Peer{0}, "node");
  if (!shared) return fail(shared.error());
  nodes = ByteReader(*shared).get<std::uint32_t>();
  const auto from_global = [](const Delivery& delivery) { return delivery.level == LevelId::global; };
  if (plan.lost_nodes.empty() && std::ranges::all_of(plan.deliveries, from_global)) {
    for (std::uint32_t lost = 0; lost < nodes; ++lost) plan.lost_nodes.push_back(NodeId{lost});
  }
  return nodes > 0;
}

// What no rank looks at while it reads its data; the file could not be copied or decoded from, were it damaged there.
Status check_frame(const Store& store, const FileName& name, const ShardEntry& expected) {
  const auto shard = CheckedShard::open(store, name);
  if (!shard) return fail(shard.error());
  const auto frame = shard->check_frame(expected);
  return frame ? Status{} : fail(frame.error());
}

// Reads an arrival back, all of it or what its rank will not, and compares it with its digest. A bad one strikes its
// source; one that cannot be read strikes itself, so that it is brought once more.
void verify(const NodeContext& node, const RestoreTask& task, const RestoreOutcome::Arrival& arrival, bool all,
            std::vector<Strike>& strikes, std::vector<std::size_t>& wrong_decodes) {
  const auto span = node.trace.span("verify", task.snapshot.version.value, all ? arrival.shard.bytes : 0);
  const Delivery& delivery = task.deliveries[arrival.delivery];
  const DirName dir = node.dir(task.snapshot);
  const FileName home = names::shard(dir, delivery.rank);
  const auto status = all ? verify_shard(*node.local, home, arrival.shard, *node.workers, node.between)
                          : check_frame(*node.local, home, arrival.shard);
  if (status) return;
  node.log.warning("rank {}: {}: {}", delivery.rank.value, describe_source(delivery), status.error().text());
  if (const Code code = status.error().code; code == Code::io || code == Code::not_found) {
    strikes.push_back({node.me.value, home.path});
    return;
  }
  switch (delivery.level) {
    case LevelId::local:
    case LevelId::partner: strikes.push_back({delivery.holder.value, delivery.file(dir).path}); break;
    case LevelId::erasure: wrong_decodes.push_back(arrival.delivery); break;
    case LevelId::global: strikes.push_back({Strike::kGlobal, home.path}); break;
  }
}

// Which input of a wrong decode was bad? Everyone checks what he gave. When nobody finds anything, the tables are
// struck that it went by, so that planning comes to an end. `struck`: this node could not read an input that it was to
// give, which is why.
Result<std::vector<Strike>> examine_decodes(Comm& heads, const NodeContext& node, const RestoreTask& task,
                                            const std::vector<std::size_t>& wrong, bool struck) {
  ByteWriter out;
  for (const std::size_t i : wrong) out.put(static_cast<std::uint32_t>(i));
  auto gathered = heads.allgather(out.bytes());
  if (!gathered) return fail(gathered.error());
  std::vector<Strike> strikes;
  std::set<std::uint32_t> all;
  for (const Buffer& bytes : *gathered) {
    ByteReader in(bytes);
    while (in.remaining() >= sizeof(std::uint32_t)) all.insert(in.get<std::uint32_t>());
  }
  for (const std::uint32_t i : all) {
    std::vector<Strike> mine;
    if (i < task.deliveries.size()) mine = bad_inputs(node, task, task.deliveries[i]);
    std::uint64_t found = mine.size() + (struck ? 1 : 0);
    if (auto status = heads.allreduce(std::span(&found, 1), Reduce::sum); !status) return fail(status.error());
    strikes.insert(strikes.end(), mine.begin(), mine.end());
    if (found > 0) continue;
    const auto tables = suspect_tables(node, task, task.deliveries[i]);
    strikes.insert(strikes.end(), tables.begin(), tables.end());
  }
  return strikes;
}

// Executes one level's part of the plan. What was found bad goes into `strikes`.
Status run_level(Comm& heads, const NodeContext& node, RetrieveState& state, RestoreTask task, LevelId level,
                 std::vector<Strike>& strikes) {
  const bool moves = !std::ranges::all_of(task.deliveries, &Delivery::in_place);
  auto outcome = node.levels.at(level).restore(heads, node, task);
  Status status = outcome ? Status{} : fail(outcome.error());
  if (moves) status = agree(heads, status, "node");  // what stays where it is keeps nobody waiting
  if (!status) return status;
  strikes.insert(strikes.end(), outcome->strikes.begin(), outcome->strikes.end());
  std::vector<std::size_t> wrong_decodes;
  std::set<std::size_t> bad;
  for (const auto& arrival : outcome->arrived) {
    const Delivery& delivery = task.deliveries[arrival.delivery];
    const std::size_t before = strikes.size() + wrong_decodes.size();
    verify(node, task, arrival, !delivery.in_place() || state.verify_own, strikes, wrong_decodes);
    if (strikes.size() + wrong_decodes.size() == before) state.entries[delivery.rank] = arrival.shard;
  }
  if (level != LevelId::erasure) return {};
  auto examined = examine_decodes(heads, node, task, wrong_decodes, !outcome->strikes.empty());
  if (!examined) return fail(examined.error());
  strikes.insert(strikes.end(), examined->begin(), examined->end());
  return {};
}

// Ranks that arrived, everywhere. Heads tell each other only what did not, which is nothing as a rule.
Status share_arrivals(Comm& heads, const NodeContext& node, const Plan& plan, RetrieveState& state) {
  ByteWriter out;
  for (const Delivery& delivery : plan.deliveries) {
    if (delivery.to.value == node.me.value && !state.entries.contains(delivery.rank)) out.put(delivery.rank.value);
  }
  auto gathered = heads.allgather(out.bytes());
  if (!gathered) return fail(gathered.error());
  for (const Delivery& delivery : plan.deliveries) state.arrived[delivery.rank] = delivery;
  for (const Buffer& bytes : *gathered) {
    ByteReader in(bytes);
    while (in.remaining() >= sizeof(std::uint32_t)) state.arrived.erase(Rank{in.get<std::uint32_t>()});
  }
  return {};
}

Status execute(Comm& heads, const NodeContext& node, RetrieveState& state, const Plan& plan,
               std::vector<Strike>& strikes) {
  for (const LevelId level : node.levels.all()) {
    RestoreTask task{plan.snapshot, {}, state.inventory.layouts, manifest_of(state, plan.snapshot)};
    for (const Delivery& delivery : plan.deliveries) {
      if (delivery.level == level && !state.arrived.contains(delivery.rank)) task.deliveries.push_back(delivery);
    }
    if (task.deliveries.empty()) continue;
    if (auto status = run_level(heads, node, state, std::move(task), level, strikes); !status) return status;
  }
  return {};
}

bool uses_global(const Plan& plan) {
  return std::ranges::any_of(plan.deliveries,
                             [](const Delivery& delivery) { return delivery.level == LevelId::global; });
}

}  // namespace

Result<Plan> retrieve(Comm& heads, const NodeContext& node, RetrieveState& state) {
  while (true) {
    auto span = node.trace.span("plan");
    auto plan =
        make_plan({state.inventory, node.layout, state.not_before, state.lost_nodes, state.arrived, state.snapshot});
    span.end();
    if (!plan) return plan;
    if (plan->snapshot != state.snapshot) {
      state.snapshot = plan->snapshot;
      state.arrived.clear();
      state.entries.clear();
    }
    std::vector<Strike> strikes;
    bool ready = true;
    if (uses_global(*plan)) {
      auto checked = check_global(heads, node, *plan, strikes);
      if (!checked) return fail(checked.error());
      ready = *checked;
    }
    if (heads.rank().value == 0) node.log.debug("{} is planned", node.name_of(plan->snapshot));
    span = node.trace.span("retrieve", plan->snapshot.version.value);
    if (ready) {
      if (auto status = execute(heads, node, state, *plan, strikes); !status) return fail(status.error());
      if (auto status = share_arrivals(heads, node, *plan, state); !status) return fail(status.error());
    }
    for (const Strike& strike : strikes) node.log.warning("{} cannot be used", strike.file);
    auto news = share_strikes(heads, state.inventory, strikes);
    if (!news) return fail(news.error());
    if (state.arrived.size() == plan->deliveries.size()) return plan;
    if (!*news)
      return fail(Code::unrecoverable,
                  fmt::format("version {} could not be brought together", plan->snapshot.version.value));
  }
}

std::vector<ShardEntry> RetrieveState::own_shards() const {
  std::vector<ShardEntry> own;
  for (const auto& [rank, entry] : entries) own.push_back(entry);
  return own;
}

Result<bool> forget_damaged(Comm& heads, RetrieveState& state, const std::vector<Rank>& damaged,
                            const std::vector<Strike>& strikes) {
  ByteWriter out;
  for (const Rank rank : damaged) {
    out.put(rank.value);
    state.entries.erase(rank);
  }
  auto gathered = heads.allgather(out.bytes());
  if (!gathered) return fail(gathered.error());
  bool any = false;
  for (const Buffer& bytes : *gathered) {
    ByteReader in(bytes);
    while (in.remaining() >= sizeof(std::uint32_t)) {
      state.arrived.erase(Rank{in.get<std::uint32_t>()});
      any = true;
    }
  }
  auto news = share_strikes(heads, state.inventory, strikes);
  if (!news) return fail(news.error());
  if (any && !*news) return fail(Code::unrecoverable, "a shard that was brought home is damaged again and again");
  return any;
}

std::string describe_source(const Delivery& delivery) {
  switch (delivery.level) {
    case LevelId::local:
      return delivery.in_place() ? "L1, own node's store"
                                 : fmt::format("L1, moved from node {}", delivery.holder.value);
    case LevelId::partner: return fmt::format("L2, copy on node {}", delivery.holder.value);
    case LevelId::erasure: return "L3, decoded";
    case LevelId::global: return "L4, global store";
  }
  return {};
}

}  // namespace cairn
