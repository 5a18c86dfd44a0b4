#include "recover/retrieve.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "comm/share.hpp"
#include "format/checked_shard.hpp"
#include "format/manifest.hpp"
#include "recover/brought_room.hpp"
#include "recover/sent_files.hpp"
#include "store/names.hpp"

namespace cairn {
namespace {

constexpr std::uint32_t kMostRoundsWithoutNews = 3;

const NodeManifest* manifest_of(const RetrieveState& state, const Identity& snapshot) {
  for (const NodeManifest& manifest : state.manifests) {
    if (manifest.identity == snapshot) return &manifest;
  }
  return nullptr;
}

// What a level has of a snapshot in its store of all nodes, which must be of that snapshot.
Result<std::shared_ptr<const SharedSnapshot>> look_at_shared(const NodeContext& node, const Level& level,
                                                             const Identity& snapshot) {
  const auto store = level.store(node);
  auto there = level.look_at(*store, node.dir(snapshot), node.sealer);
  if (there && (*there)->identity() != snapshot)
    return fail(Code::corrupt, store->where() + ": a manifest belongs to another snapshot");
  return there;
}

// Called before a plan takes files of a level from a shared store: whether the snapshot there is good, and of as many
// ranks as the plan has. The state learns another number, so that the next plan has it. If every shard comes from
// there, notes in the plan that all its nodes are lost. Head 0 gets the `shards` as the store names them.
Result<bool> check_shared(Comm& heads, const NodeContext& node, LevelId level, RetrieveState& state, Plan& plan,
                          std::vector<Strike>& strikes, std::vector<ShardEntry>& shards) {
  Status status;
  std::uint32_t nodes = 0;  // 0: not good
  std::uint32_t ranks = 0;  // not 0: other ones than in the plan
  if (heads.rank().value == 0) {
    const Level& strategy = node.levels.at(level);
    auto there = look_at_shared(node, strategy, plan.snapshot);
    const std::size_t wrote = there ? (*there)->shards().size() : 0;
    const bool fits = wrote == plan.deliveries.size();
    if (there && !fits && (plan.of_other_ranks || state.ranks.contains(plan.snapshot)))
      there = fail(Code::corrupt, "a manifest has another number of ranks than the snapshot in node stores");
    if (!there) {
      node.log.warning("{}", there.error().text());
      strikes.push_back({*strategy.traits().shared_store, names::manifest(node.dir(plan.snapshot)).path});
    } else if (!fits && !state.elastic) {
      status = fail(wrong_number_of_ranks(plan.snapshot, wrote, node.layout.node_of_rank.size()));
    } else if (!fits) {
      ranks = static_cast<std::uint32_t>(wrote);
    } else {
      nodes = (*there)->layout().nodes;
      shards = (*there)->shards();
      state.shared_notes.insert_or_assign(plan.snapshot, (*there)->notes());
    }
  }
  ByteWriter found;
  found.put(nodes);
  found.put(ranks);
  auto shared = share(heads, status ? Result<Buffer>(found.take()) : fail(status.error()), Peer{0}, "node");
  if (!shared) return fail(shared.error());
  ByteReader in(*shared);
  nodes = in.get<std::uint32_t>();
  ranks = in.get<std::uint32_t>();
  if (ranks > 0) state.ranks[plan.snapshot] = ranks;
  const auto from_all = [](const Delivery& delivery) { return std::holds_alternative<SharedShard>(delivery.source); };
  if (plan.lost_nodes.empty() && std::ranges::all_of(plan.deliveries, from_all)) {
    for (std::uint32_t lost = 0; lost < nodes; ++lost) plan.lost_nodes.push_back(NodeId{lost});
  }
  return nodes > 0;
}

// Checks the parts of a file that no rank checks while it reads its data: if they were damaged, the file could not be
// copied or used for a decode.
Status check_frame(const Store& store, const FileName& name, const ShardEntry& expected) {
  const auto shard = CheckedShard::open(store, name);
  if (!shard) return fail(shard.error());
  const auto frame = shard->check_frame(expected);
  return frame ? Status{} : fail(frame.error());
}

// Reads an arrival back and compares it with its digest, unless that was done during the write. `all`: all of it;
// otherwise only the parts that its rank will not check.
Status verify(const NodeContext& node, const RestoreTask& task, const RestoreOutcome::Arrival& arrival, bool all) {
  if (arrival.compared) return {};
  const auto span = node.trace.span("verify", task.snapshot.version.value, all ? arrival.shard.bytes : 0);
  const Delivery& delivery = task.deliveries[arrival.delivery];
  const FileName home = task.home(node, delivery);
  Status status;
  if (all) {
    const auto shard = arrival.file ? Shard::open(arrival.file->read_back(), home) : Shard::open(*node.local, home);
    status = shard ? verify_shard(*shard, arrival.shard, *node.workers, node.between) : fail(shard.error());
  } else {
    status = check_frame(*node.local, home, arrival.shard);
  }
  if (!status) {
    node.log.warning("rank {}: {}: {}", delivery.rank.value, describe_source(node.levels, delivery),
                     status.error().text());
  }
  return status;
}

// A symptom for each of these arrivals (positions in the task) that another node has sent.
void report_damaged(const NodeContext& node, const RestoreTask& task, const RestoreOutcome& outcome,
                    const std::vector<std::size_t>& damaged) {
  if (node.symptoms == nullptr) return;
  for (const std::size_t i : damaged) {
    const auto holder = task.deliveries[i].holder();
    if (!holder || holder->value == node.me.value) continue;
    const auto is_sent = [&](std::size_t other) { return task.deliveries[other].holder() == holder; };
    const auto sent = std::ranges::count_if(outcome.arrived, is_sent, &RestoreOutcome::Arrival::delivery);
    const double share = static_cast<double>(std::ranges::count_if(damaged, is_sent)) / static_cast<double>(sent);
    node.symptoms->report({SymptomKind::crc_mismatch, {NodeId{holder->value}, std::nullopt}, node.me, {}, share});
  }
}

// Arrivals that are what they should be get their names. The others are in `unread`, or in `wrong` by their positions
// in the task: what lies under their names stays. Fails when the store does.
Status take_in(const NodeContext& node, const RestoreTask& task, const RestoreOutcome& outcome, RetrieveState& state,
               std::vector<Strike>& unread, std::vector<std::size_t>& wrong) {
  std::vector<std::size_t> damaged;
  for (const auto& arrival : outcome.arrived) {
    const Delivery& delivery = task.deliveries[arrival.delivery];
    const Status good = verify(node, task, arrival, !delivery.in_place() || state.verify_own);
    if (good) {
      if (auto named = arrival.file ? arrival.file->commit() : Status{}; !named) return named;
      state.entries[delivery.rank] = arrival.shard;
    } else if (good.error().code == Code::io || good.error().code == Code::not_found) {
      // A read error here does not mean that the source is bad. The file is brought again.
      unread.push_back({StoreId::node(node.me.value), task.home(node, delivery).path});
    } else {
      wrong.push_back(arrival.delivery);
      if (good.error().code == Code::corrupt) damaged.push_back(arrival.delivery);
    }
  }
  report_damaged(node, task, outcome, damaged);
  return {};
}

// Executes one level's part of the plan. What was found bad goes into `strikes`.
Status run_level(Comm& heads, const NodeContext& node, RetrieveState& state, RestoreTask task, LevelId level,
                 std::vector<Strike>& strikes) {
  const bool moves = !std::ranges::all_of(task.deliveries, &Delivery::in_place);
  Level& strategy = node.levels.at(level);
  const auto outcome = strategy.restore(heads, node, task);
  std::vector<std::size_t> wrong;
  Status status = outcome ? take_in(node, task, *outcome, state, strikes, wrong) : fail(outcome.error());
  if (moves) status = agree(heads, status, "node");  // if nothing moves, no head has to wait for others
  if (!status) return status;
  const auto blamed = strategy.blame(heads, node, task, wrong, !outcome->strikes.empty());
  if (!blamed) return fail(blamed.error());
  strikes.insert(strikes.end(), outcome->strikes.begin(), outcome->strikes.end());
  strikes.insert(strikes.end(), blamed->begin(), blamed->end());
  return {};
}

// Tells all heads which ranks' shards arrived. Heads send only those that did not arrive, usually none.
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
    RestoreTask task{plan.snapshot, {}, state.inventory.layouts, manifest_of(state, plan.snapshot), plan.aside};
    for (const Delivery& delivery : plan.deliveries) {
      if (delivery.level == level && !state.arrived.contains(delivery.rank)) task.deliveries.push_back(delivery);
    }
    if (task.deliveries.empty()) continue;
    if (auto status = run_level(heads, node, state, std::move(task), level, strikes); !status) return status;
  }
  return {};
}

// A strike in a shared store names a shard, which is a part of a node's file there.
std::string text_of(const Strike& strike) {
  const std::size_t slash = strike.file.find('/');
  const auto rank = names::parse_shard(std::string_view(strike.file).substr(slash + 1));
  if (!strike.store.is_shared() || !rank) return strike.file;
  return fmt::format("rank {} of {} in a shared store", rank->value, strike.file.substr(0, slash));
}

// Levels that the plan goes by and whose store all nodes share.
LevelSet shared_levels(const Plan& plan, const Levels& levels) {
  LevelSet used;
  for (const Delivery& delivery : plan.deliveries) used.add(delivery.level);
  return used & levels.in_shared_stores();
}

// Whether to plan again after a round that did not bring everything. `news`: it struck a file that was not struck
// before, so the next plan differs; that ends when all files are struck. Without news the plan stays the same: what was
// brought home could not be read there, in the place of a file that is struck already. The source may be whole, and the
// store may do better, so a few rounds more are tried. The same on all heads.
bool is_worth_another_round(RetrieveState& state, bool news) {
  return news || state.rounds_without_news++ < kMostRoundsWithoutNews;
}

}  // namespace

Result<Plan> retrieve(Comm& heads, const NodeContext& node, RetrieveState& state) {
  while (true) {
    auto span = node.trace.span("plan");
    auto plan =
        make_plan({state.inventory, node.layout, state.not_before, state.lost_nodes, state.arrived, state.snapshot,
                   state.elastic, state.ranks, state.chosen, state.branch, state.aside, state.rejected});
    span.end();
    if (!plan) return plan;
    if (plan->snapshot != state.snapshot) {
      state.snapshot = plan->snapshot;
      state.arrived.clear();
      state.entries.clear();
      if (std::exchange(state.brings_aside, false)) remove_brought(node);
    }
    if (plan->aside && !std::exchange(state.brings_aside, true)) remove_brought(node);
    std::vector<Strike> strikes;
    bool ready = true;
    const std::size_t numbers_known = state.ranks.size();
    KnownShards shards{manifest_of(state, plan->snapshot), {}};
    for (const LevelId level : shared_levels(*plan, node.levels)) {
      const auto checked = check_shared(heads, node, level, state, *plan, strikes, shards.shared);
      if (!checked) return fail(checked.error());
      ready = ready && *checked;
    }
    if (state.ranks.size() > numbers_known) continue;
    if (heads.rank().value == 0) node.log.debug("the heads restore {}", node.name_of(plan->snapshot));
    const auto sent = node.symptoms != nullptr ? sent_files(node, state, *plan) : std::vector<Delivery>{};
    const auto struck_before = sent.empty() ? std::set<Strike>{} : state.inventory.strikes;
    span = node.trace.span("retrieve", plan->snapshot.version.value);
    if (ready && plan->aside) {
      const auto is_there = [&](Rank rank) { return state.arrived.contains(rank); };
      if (auto status = check_room_for_brought(heads, node, *plan, shards, is_there); !status)
        return fail(status.error());
    }
    if (ready) {
      if (auto status = execute(heads, node, state, *plan, strikes); !status) return fail(status.error());
      if (auto status = share_arrivals(heads, node, *plan, state); !status) return fail(status.error());
    }
    for (const Strike& strike : strikes) node.log.warning("{} cannot be used", text_of(strike));
    auto news = share_strikes(heads, state.inventory, strikes);
    if (!news) return fail(news.error());
    if (!sent.empty()) report_sent(node, state, manifest_of(state, plan->snapshot), {sent, strikes, struck_before});
    if (state.arrived.size() == plan->deliveries.size()) return plan;
    if (!is_worth_another_round(state, *news))
      return fail(Code::unrecoverable,
                  fmt::format("version {} could not be restored: some of its shards did not reach their nodes",
                              plan->snapshot.version.value),
                  "look for the cause in the log above, and start the job again");
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
  if (any && !is_worth_another_round(state, *news))
    return fail(Code::unrecoverable, "a shard is damaged each time that it is restored to its node's store",
                "check the memory or the disk of [storage] local on that node");
  return any;
}

FileName home_of(const NodeContext& node, const Plan& plan, Rank rank) {
  return home_of(node, plan.snapshot, plan.deliveries[rank.value], plan.aside);
}

Strike strike_at_home(const NodeContext& node, const Plan& plan, Rank rank) {
  return {StoreId::node(node.me.value), home_of(node, plan, rank).path};
}

void remove_brought(const NodeContext& node) {
  if (auto status = node.local->remove_directory(names::brought()); !status)
    node.log.warning("{}", status.error().text());
}

std::string describe_source(const Levels& levels, const Delivery& delivery) {
  return fmt::format("L{}, {}", static_cast<int>(delivery.level), levels.at(delivery.level).describe(delivery));
}

}  // namespace cairn
