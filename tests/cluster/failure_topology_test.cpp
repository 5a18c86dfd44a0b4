// What the failure topology saves, counted, and that nothing but time depends on it: told rightly, wrongly, differently
// or not at all, with a memory of the stores that is right, stale or missing, the same bytes come back.
#include <atomic>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "recover/roll_call.hpp"
#include "store/names.hpp"
#include "support/counting_store.hpp"
#include "support/job.hpp"
#include "support/large_layout.hpp"
#include "support/plan_cost.hpp"
#include "support/steps.hpp"

namespace cairn::test {
namespace {

constexpr Search kTold{true, true};
constexpr Search kToldAnew{true, false};
constexpr Search kLevelByLevel{false, false};

TEST(FailureTopology, a_plan_takes_two_collectives_and_opens_no_file_however_many_nodes_there_are) {
  for (const std::uint32_t nodes : {8U, 16U, 48U}) {
    PlanScene scene(nodes);
    for (const LevelId needed : kAllLevels) {
      SCOPED_TRACE(testing::Message() << nodes << " nodes, L" << static_cast<int>(needed));
      const PlanCost cost = scene.cost(needed, kTold);
      EXPECT_EQ(cost.traffic.collectives, 2U) << "the roll call, and the chain with the life's record";
      EXPECT_EQ(cost.traffic.messages, 0U);
      EXPECT_LE(cost.traffic.collective_bytes, 708U);
      EXPECT_EQ(cost.own.opens, 0U) << "survivors remember their manifests";
      EXPECT_EQ(cost.own.lists, 2U) << "the store, and the one snapshot in it";
      EXPECT_EQ(cost.global.opens, 4U) << "the record of the life before, the format at L4, what it measured, and pins";
      EXPECT_EQ(cost.wrong_ranks, std::vector<std::uint32_t>{});
    }
  }
}

TEST(FailureTopology, a_process_that_remembers_nothing_reads_its_manifests_and_no_more) {
  PlanScene scene(16);
  for (const LevelId needed : kAllLevels) {
    const PlanCost cost = scene.cost(needed, kToldAnew);
    EXPECT_EQ(cost.traffic.collectives, 2U);
    EXPECT_EQ(cost.own.opens, 1U);
    EXPECT_EQ(cost.wrong_ranks, std::vector<std::uint32_t>{});
  }
}

TEST(FailureTopology, without_it_every_level_is_opened_and_agreed_on_up_to_the_one_that_is_whole) {
  PlanScene scene(16);
  const std::uint64_t files_of_level[] = {1, 1, 2, 0};  // shard, copy, two rows of parity; L4's is in the global store
  std::uint64_t files = 1;                              // the manifest
  for (const LevelId needed : kAllLevels) {
    SCOPED_TRACE(testing::Message() << "L" << static_cast<int>(needed));
    const PlanCost cost = scene.cost(needed, kLevelByLevel);
    files += files_of_level[static_cast<std::size_t>(needed) - 1];
    EXPECT_EQ(cost.traffic.collectives, 2U + static_cast<unsigned>(needed));
    EXPECT_EQ(cost.own.opens, files);
    EXPECT_EQ(cost.global.opens, needed == LevelId::global ? 5U : 4U);
    EXPECT_EQ(cost.wrong_ranks, std::vector<std::uint32_t>{});
  }
}

TEST(FailureTopology, levels_that_cannot_have_survived_are_never_touched) {
  PlanScene scene(16);
  EXPECT_GT(scene.cost(LevelId::partner, kTold).copies_opened, 0U);
  EXPECT_EQ(scene.cost(LevelId::partner, kTold).parity_opened, 0U);
  EXPECT_EQ(scene.cost(LevelId::erasure, kTold).copies_opened, 0U);
  EXPECT_GT(scene.cost(LevelId::erasure, kTold).parity_opened, 0U);
  EXPECT_GT(scene.cost(LevelId::erasure, kLevelByLevel).copies_opened, 0U);
}

// Stores of nodes of one layout that hold the same snapshots.
StoreContents contents_of(const Layout& layout, NodeId node, std::uint32_t snapshots) {
  StoreContents contents;
  for (std::uint32_t version = 1; version <= snapshots; ++version) {
    const Holding holding{layout, node, std::vector<ShardEntry>{}, PartnerHolding{version, {}}, {}};
    contents.manifests.push_back({{{2}, {version}, {77}}, version, {holding}});
    contents.highest_version = Version{version};
  }
  return contents;
}

struct Answers {
  std::function<StoreContents(NodeId node)> contents;
  std::function<std::vector<std::uint32_t>(NodeId node)> lost = [](NodeId) { return std::vector<std::uint32_t>{}; };
};

// Of all heads, who must have understood the same.
RollCall roll_call_of(std::uint32_t heads, const Answers& answers) {
  std::vector<RollCall> rolls(heads);
  run_cluster(heads, [&](Comm& comm) {
    const NodeId me{comm.rank().value};
    const StoreContents contents = answers.contents(me);
    const auto roll = call_roll(comm, {{}, contents, {}, answers.lost(me)});
    ASSERT_TRUE(roll) << roll.error().text();
    rolls[me.value] = *roll;
  });
  for (const RollCall& roll : rolls) {
    EXPECT_EQ(roll.common, rolls[0].common);
    EXPECT_EQ(roll.as_expected, rolls[0].as_expected);
  }
  return rolls[0];
}

TEST(RollCall, tells_what_all_stores_hold_to_those_that_hold_nothing) {
  const Layout layout = large_layout(5, 1);
  const RollCall roll =
      roll_call_of(5, {[&](NodeId node) { return contents_of(layout, node, node.value < 2 ? 0 : 16); },
                       [](NodeId) {
                         return std::vector<std::uint32_t>{1, 0};
                       }});
  EXPECT_TRUE(roll.as_expected);
  EXPECT_TRUE(roll.any_holdings);
  HoldingList expected = contents_of(layout, NodeId{3}, 16).summaries();
  for (HoldingSummary& summary : expected) summary.node = NodeId{};
  ASSERT_TRUE(roll.common);
  EXPECT_EQ(*roll.common, expected);
  EXPECT_EQ(roll.newest.value, 2U);
  EXPECT_EQ(roll.highest_version.value, 16U);
  EXPECT_EQ(roll.turns, 17U);
}

TEST(RollCall, notices_a_topology_that_is_wrong_stale_or_not_the_same_everywhere) {
  const Layout layout = large_layout(4, 1);
  const auto node_2_is_empty = [&](NodeId node) { return contents_of(layout, node, node.value == 2 ? 0 : 3); };
  for (const std::vector<std::uint32_t>& lost : {std::vector<std::uint32_t>{}, {1}, {1, 2}, {0, 1, 2, 3}}) {
    const RollCall roll = roll_call_of(4, {node_2_is_empty, [&](NodeId) { return lost; }});
    EXPECT_FALSE(roll.as_expected) << fmt::format("{}", lost.size());
    EXPECT_TRUE(roll.common);
  }
  const auto told_apart = [](NodeId node) {
    return node.value == 0 ? std::vector<std::uint32_t>{2, 9} : std::vector<std::uint32_t>{2};
  };
  EXPECT_FALSE(roll_call_of(4, {node_2_is_empty, told_apart}).as_expected);
  EXPECT_TRUE(roll_call_of(4, {node_2_is_empty, [](NodeId) { return std::vector<std::uint32_t>{2}; }}).as_expected);
}

TEST(RollCall, says_that_stores_differ_when_one_has_more_less_something_struck_or_too_much) {
  const Layout layout = large_layout(4, 1);
  const auto with = [&](std::function<void(NodeId, StoreContents&)> change, std::uint32_t snapshots = 3) {
    return roll_call_of(4, {[&](NodeId node) {
                          StoreContents contents = contents_of(layout, node, snapshots);
                          change(node, contents);
                          return contents;
                        }})
        .common;
  };
  EXPECT_TRUE(with([](NodeId, StoreContents&) {}));
  EXPECT_FALSE(with([](NodeId, StoreContents&) {}, 17)) << "more than it has room for";
  for (std::uint32_t one = 0; one < 4; ++one) {
    EXPECT_FALSE(with([&](NodeId node, StoreContents& contents) {
      if (node.value == one) contents.manifests.pop_back();
    }));
    EXPECT_FALSE(with([&](NodeId node, StoreContents& contents) {
      if (node.value == one)
        contents.strikes.push_back({StoreId::node(one), "v00000001-000000000000004d/rank000000.shard"});
    }));
    EXPECT_FALSE(with([&](NodeId node, StoreContents& contents) {
      if (node.value == one) contents.manifests[1].holdings[0].partner.reset();
    }));
    EXPECT_FALSE(with([&](NodeId node, StoreContents& contents) {
      if (node.value == one) contents.manifests[0].holdings[0].node = NodeId{(one + 1) % 4};
    }));
  }
}

// A job of processes that go on after a failure, with the manifests that their heads read counted.
class LastingJob {
 public:
  explicit LastingJob(const std::string& more = {}) : job_({3, 3, 3, 3}, settings(more)) {
    job_.same_processes = true;
    job_.wrap_node = [this](std::uint32_t, const std::shared_ptr<Store>& store) {
      auto counting = std::make_shared<CountingStore>(store);
      counting->on_open = [this](const FileName& name) { manifests_ += name.path.ends_with("manifest.json") ? 1 : 0; };
      return counting;
    };
  }
  static std::string settings(const std::string& more) {
    return "[levels]\nl1 = every 1\nl2 = every 1\nl3 = every 2\nl4 = off\n[erasure]\nparity = 1\n"
           "[restart]\nat_end = continue\n" +
           more;
  }
  Job* operator->() { return &job_; }

  void advance(std::uint32_t from, std::uint32_t steps) {
    job_.run_well_and_die([&](JobSession& session) {
      Steps state(session);
      EXPECT_EQ(state.restore(), from);
      state.advance_by(steps);
      state.wait_for_all();
    });
  }
  // Manifests that were read since it was asked last.
  std::uint32_t manifests_read() { return manifests_.exchange(0); }

 private:
  std::atomic<std::uint32_t> manifests_{0};
  Job job_;
};

TEST(StoreMemory, a_session_opened_again_in_the_same_processes_reads_no_manifest) {
  LastingJob job;
  job.advance(0, 3);
  EXPECT_EQ(job.manifests_read(), 0U);
  job.advance(3, 2);
  EXPECT_EQ(job.manifests_read(), 0U);
  job->lose(1);
  job->failures.lost_nodes = {1};
  job.advance(5, 2);
  EXPECT_EQ(job.manifests_read(), 0U);
  job->configure(LastingJob::settings("use_failure_topology = off\n"));
  job.advance(7, 1);
  EXPECT_GT(job.manifests_read(), 0U);
}

TEST(StoreMemory, that_is_stale_is_not_believed) {
  for (const char* use : {"on", "off"}) {
    LastingJob job(fmt::format("use_failure_topology = {}\n", use));
    job.advance(0, 2);
    const Job::Image after_two = job->image();
    job.advance(2, 2);
    // Nobody tells the processes that their stores are those of earlier, that one is empty, or that files are gone.
    job->put_back(after_two);
    job.advance(2, 1);
    job->node_store(2).wipe();
    job.advance(3, 1);
    const auto directories = job->node_store(0).list(DirName{});
    ASSERT_TRUE(directories);
    for (const Entry& entry : *directories) {
      for (const std::uint32_t rank : {0U, 1U}) {
        ASSERT_TRUE(job->node_store(0).remove(names::shard(DirName{entry.name}, Rank{rank})));
      }
    }
    job.advance(4, 1);
    for (const Entry& entry : *directories) {
      ASSERT_TRUE(job->node_store(3).remove(names::manifest(DirName{entry.name})));
    }
    job.advance(5, 1);
  }
}

}  // namespace
}  // namespace cairn::test
