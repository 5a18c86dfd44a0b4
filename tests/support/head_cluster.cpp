#include "support/head_cluster.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "recover/learn_inventory.hpp"
#include "support/facts.hpp"
#include "support/faulty_store.hpp"
#include "support/sample_shard.hpp"
#include "support/thread_cluster.hpp"

namespace cairn::test {
namespace {

// Thousands of nodes are thousands of threads, which take their time.
constexpr std::chrono::seconds kProtectLimit{600};

std::string said_of(const Losses& lost) { return fmt::format("lost nodes {{{}}}", fmt::join(lost, ", ")); }

void expect_refusal(const HeadCluster& cluster, const HeadCluster::Outcome& outcome, const Losses& lost,
                    const std::vector<std::uint32_t>& ranks) {
  ASSERT_TRUE(outcome.error) << "refused nothing, though ranks " << fmt::format("{}", fmt::join(ranks, ", "))
                             << " cannot come back";
  if (lost.size() == cluster.layout().nodes) {
    EXPECT_EQ(outcome.error->code, Code::not_found);
    return;
  }
  Things things{fmt::format("version {}", kSampleIdentity.version.value)};
  for (const std::uint32_t rank : ranks) things.push_back(fmt::format("rank {}", rank));
  for (const std::uint32_t node : lost) things.push_back(fmt::format("node {}", node));
  EXPECT_THAT(*outcome.error, Fails(Code::unrecoverable, things));
}

void expect_recovery(const HeadCluster& cluster, const HeadCluster::Outcome& outcome, const Losses& lost) {
  ASSERT_FALSE(outcome.error) << outcome.error->text();
  EXPECT_EQ(outcome.plan.snapshot, kSampleIdentity);
  EXPECT_EQ(cluster.wrong_ranks(), std::vector<std::uint32_t>{});
  std::vector<NodeId> lost_nodes;
  for (const std::uint32_t node : lost) lost_nodes.push_back(NodeId{node});
  EXPECT_EQ(outcome.plan.lost_nodes, lost_nodes);
  for (const Delivery& delivery : outcome.plan.deliveries) {
    const NodeId home = cluster.layout().node_of_rank[delivery.rank.value];
    EXPECT_EQ(delivery.in_place(), !lost.contains(home.value)) << "rank " << delivery.rank.value;
  }
  for (std::uint32_t node = 0; node < outcome.writes.size(); ++node) {
    if (lost.contains(node)) continue;
    EXPECT_EQ(outcome.writes[node], 0U) << "node " << node << " had all its shards";
  }
}

}  // namespace

Layout layout_of_ranks(const std::vector<std::uint32_t>& ranks_on_node) {
  Layout layout;
  layout.nodes = static_cast<std::uint32_t>(ranks_on_node.size());
  for (std::uint32_t node = 0; node < layout.nodes; ++node) {
    layout.node_of_rank.insert(layout.node_of_rank.end(), ranks_on_node[node], NodeId{node});
  }
  return layout;
}

LevelSet level_set(std::initializer_list<LevelId> levels) {
  LevelSet set;
  for (const LevelId level : levels) set.add(level);
  return set;
}

struct HeadCluster::HeadOutcome {
  std::optional<Error> error;
  Plan plan;
  std::set<Strike> strikes;
  std::uint64_t writes = 0;
  struct Symptoms final : SymptomPort {
    void report(const Symptom& symptom) override { all.push_back(symptom); }
    void note_sent(NodeId to, Sent how) override { sent.push_back({me, to, how}); }
    NodeId me;
    std::vector<Symptom> all;
    std::vector<Outcome::Sent> sent;
  } symptoms;
};

HeadCluster::HeadCluster(Layout layout, const std::function<std::uint64_t(std::uint32_t rank)>& rows)
    : layout_(std::move(layout)), rows_(rows), global_(std::make_shared<MemoryStore>()), images_(layout_.nodes) {
  for (std::uint32_t node = 0; node < layout_.nodes; ++node) {
    stores_.push_back(std::make_shared<MemoryStore>(MemoryStore::kUnbounded, fmt::format("store of node {}", node)));
  }
}

DirName HeadCluster::dir() const { return sample_dir(); }

NodeContext HeadCluster::context(std::uint32_t node, const Layout& layout) const {
  NodeContext context;
  context.me = NodeId{node};
  context.layout = layout;
  context.incarnation = kSampleIdentity.incarnation;
  context.run = kSampleIdentity.run;
  context.local = stores_.at(node);
  context.global = global_;
  return context;
}

void HeadCluster::write_shards(std::uint32_t node) {
  for (const Rank rank : layout_.ranks_on(NodeId{node})) {
    const SampleRegions regions(rank, rows_(rank.value));
    const auto ranks = static_cast<std::uint32_t>(layout_.node_of_rank.size());
    const BlockDigest digest = rank.value % 2 == 0 ? BlockDigest::crc32c : BlockDigest::sha256;  // both kinds are met
    const auto written =
        write_shard(*stores_[node], names::shard(dir(), rank), sample_identity(rank, ranks), regions.all(), digest);
    ASSERT_TRUE(written) << written.error().text();
  }
}

void HeadCluster::protect_on(Comm& heads) {
  const std::uint32_t node = heads.rank().value;
  write_shards(node);
  NodeManifest manifest{kSampleIdentity, kSampleSafePoint, {}};
  LevelSet levels = levels_;
  levels.add(LevelId::local);
  for (const LevelId level : kAllLevels) {
    if (!levels.has(level)) continue;
    const auto status = make_level(level)->protect(heads, context(node, layout_), manifest, turn_);
    ASSERT_TRUE(status) << status.error().text();
  }
  const auto written = write_manifest(*stores_[node], manifest, {});
  ASSERT_TRUE(written) << written.error().text();
}

void HeadCluster::protect(LevelSet levels, std::uint64_t turn) {
  levels_ = levels;
  turn_ = turn;
  run_cluster(
      layout_.nodes, [&](Comm& heads) { protect_on(heads); }, kProtectLimit);
  for (std::uint32_t node = 0; node < layout_.nodes; ++node) images_[node] = image_of(*stores_[node]);
  global_image_ = image_of(*global_);
  for (std::uint32_t rank = 0; rank < layout_.node_of_rank.size(); ++rank) {
    const NodeId node = layout_.node_of_rank[rank];
    shards_.push_back(images_[node.value].at(names::shard(dir(), Rank{rank}).path));
  }
}

std::vector<std::string> HeadCluster::protect_again(LevelId level) {
  std::vector<std::string> told(layout_.nodes);
  run_cluster(layout_.nodes, [&](Comm& heads) {
    const std::uint32_t node = heads.rank().value;
    auto manifest = read_node_manifest(*stores_[node], dir(), {});
    ASSERT_TRUE(manifest) << manifest.error().text();
    NodeContext seen = context(node, layout_);
    if (global_seen) seen.global = global_seen;
    const auto status = make_level(level)->protect(heads, seen, *manifest, turn_);
    if (!status) told[node] = status.error().text();
  });
  return told;
}

bool HeadCluster::looks_whole(LevelId level, std::uint32_t node) const {
  const auto manifest = read_node_manifest(*stores_.at(node), dir(), {});
  return make_level(level)->looks_whole(context(node, layout_), kSampleIdentity, manifest ? &*manifest : nullptr);
}

void HeadCluster::put_back() {
  for (std::uint32_t node = 0; node < layout_.nodes; ++node) test::put_back(*stores_[node], images_[node]);
  test::put_back(*global_, global_image_);
}

void HeadCluster::lose(const Losses& nodes) {
  for (const std::uint32_t node : nodes) stores_.at(node)->wipe();
}

void HeadCluster::restore_on(Comm& heads, const Layout& today, const std::vector<std::uint32_t>& hint,
                             HeadOutcome& outcome) {
  NodeContext node = context(heads.rank().value, today);
  node.symptoms = &outcome.symptoms;
  outcome.symptoms.me = node.me;
  if (seen) node.local = seen(node.me.value, node.local);
  const auto writes = std::make_shared<FaultPlan>();
  node.local = std::make_shared<FaultyStore>(node.local, writes);
  StoreMemory memory;
  auto contents = read_store(*node.local, node.me, node.log, memory, {});
  ASSERT_TRUE(contents) << contents.error().text();
  auto chain = read_chain(*node.global, node.log, {});
  ASSERT_TRUE(chain) << chain.error().text();
  const std::optional<RollCall> roll = call_roll(heads, {{}, *contents, *chain, hint}).value();
  const FailureTopology failures{{}, hint};
  auto inventory = learn_inventory(heads, {node, *contents, roll, failures, *chain, {}, level_by_level});
  ASSERT_TRUE(inventory) << inventory.error().text();
  RetrieveState state{std::move(*inventory), contents->manifests, {}, true, hint, {}, {}, {}};
  auto plan = retrieve(heads, node, state);
  if (plan)
    outcome.plan = std::move(*plan);
  else
    outcome.error = plan.error();
  outcome.strikes = state.inventory.strikes;
  outcome.writes = writes->operations();
}

HeadCluster::Outcome HeadCluster::restore(const Layout& today, std::vector<std::uint32_t> hint) {
  while (stores_.size() < today.nodes) stores_.push_back(std::make_shared<MemoryStore>());
  std::vector<HeadOutcome> by_head(today.nodes);
  run_cluster(today.nodes, [&](Comm& heads) { restore_on(heads, today, hint, by_head[heads.rank().value]); });
  Outcome all{by_head[0].error, by_head[0].plan, by_head[0].strikes, {}};
  for (const HeadOutcome& one : by_head) {
    EXPECT_EQ(one.error ? one.error->message : "", all.error ? all.error->message : "");
    EXPECT_EQ(one.plan.snapshot, all.plan.snapshot);
    EXPECT_EQ(one.plan.deliveries.size(), all.plan.deliveries.size());
    all.writes.push_back(one.writes);
    all.symptoms.insert(all.symptoms.end(), one.symptoms.all.begin(), one.symptoms.all.end());
    all.sent.insert(all.sent.end(), one.symptoms.sent.begin(), one.symptoms.sent.end());
  }
  return all;
}

std::vector<std::uint32_t> HeadCluster::wrong_ranks(const Layout& today) const {
  std::vector<std::uint32_t> wrong;
  for (std::uint32_t rank = 0; rank < shards_.size(); ++rank) {
    const auto& store = *stores_.at(today.node_of_rank.at(rank).value);
    if (read_all(store, names::shard(dir(), Rank{rank})) != shards_[rank]) wrong.push_back(rank);
  }
  return wrong;
}

void expect_outcome_of(HeadCluster& cluster, const Losses& lost, std::vector<std::uint32_t> hint) {
  const testing::ScopedTrace trace(__FILE__, __LINE__, said_of(lost));
  cluster.put_back();
  cluster.lose(lost);
  const auto outcome = cluster.restore(cluster.layout(), std::move(hint));
  const auto gone = ranks_beyond_rescue(cluster.layout(), cluster.levels(), cluster.turn(), lost);
  if (gone.empty())
    expect_recovery(cluster, outcome, lost);
  else
    expect_refusal(cluster, outcome, lost, gone);
}

void expect_all_that_can_survive(HeadCluster& cluster) {
  const std::uint32_t nodes = cluster.layout().nodes;
  for (std::uint32_t bits = 0; bits < 1U << nodes && !testing::Test::HasFailure(); ++bits) {
    expect_outcome_of(cluster, losses_of(bits));
  }
}

}  // namespace cairn::test
