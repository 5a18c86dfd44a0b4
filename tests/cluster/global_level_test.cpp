// L4 under every loss, all node stores included.
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "level/global_level.hpp"
#include "store/names.hpp"
#include "support/faulty_store.hpp"
#include "support/head_cluster.hpp"
#include "support/hooked_store.hpp"
#include "support/job.hpp"
#include "support/steps.hpp"

namespace cairn::test {
namespace {

TEST(GlobalLevel, brings_back_every_subset_of_lost_nodes_even_all) {
  for (const std::vector<std::uint32_t>& ranks :
       {std::vector<std::uint32_t>{3}, {2, 1}, {1, 3, 2}, {1, 2, 1, 3}, {2, 1, 1, 1, 2}}) {
    SCOPED_TRACE(testing::Message() << ranks.size() << " nodes");
    HeadCluster cluster(layout_of_ranks(ranks), [](std::uint32_t rank) { return rank * 131 % 400; });
    cluster.protect(level_set({LevelId::global}));
    expect_all_that_can_survive(cluster);
  }
}

TEST(GlobalLevel, needs_nothing_of_the_nodes_where_it_was_written) {
  HeadCluster cluster(layout_of_ranks({2, 1, 3}), [](std::uint32_t rank) { return 50 * rank; });
  cluster.protect(level_set({LevelId::global}));
  cluster.lose({0, 1, 2});
  const Layout today = layout_of_ranks({1, 1, 1, 1, 2});
  const auto outcome = cluster.restore(today);
  ASSERT_FALSE(outcome.error) << outcome.error->text();
  EXPECT_EQ(cluster.wrong_ranks(today), std::vector<std::uint32_t>{});
}

// A commit meets a directory of the same snapshot, and the job dies at any moment.
TEST(GlobalLevel, that_is_written_again_is_whole_at_every_moment) {
  HeadCluster cluster(layout_of_ranks({1, 2}), [](std::uint32_t rank) { return 50 * rank; });
  cluster.protect(level_set({LevelId::global}));
  const auto plan = std::make_shared<FaultPlan>();
  cluster.global_seen = std::make_shared<FaultyStore>(cluster.shared_global(), plan);
  for (std::uint64_t n = 0;; ++n) {
    SCOPED_TRACE(testing::Message() << "operation " << n);
    cluster.put_back();
    plan->heal();
    plan->crash_at(n);
    (void)cluster.protect_again(LevelId::global);
    cluster.lose({0, 1});
    const auto outcome = cluster.restore();
    ASSERT_FALSE(outcome.error) << outcome.error->text();
    ASSERT_EQ(cluster.wrong_ranks(), std::vector<std::uint32_t>{});
    if (plan->operations() <= n) break;
  }
}

TEST(GlobalLevel, that_is_written_again_takes_the_place_of_a_damaged_one) {
  HeadCluster cluster(layout_of_ranks({1, 2}), [](std::uint32_t rank) { return 50 * rank; });
  cluster.protect(level_set({LevelId::global}));
  for (const auto& [path, bytes] : image_of(cluster.global())) {
    SCOPED_TRACE(path);
    cluster.put_back();
    ASSERT_TRUE(cluster.global().corrupt(FileName{path}, bytes.size() / 2));
    EXPECT_THAT(cluster.protect_again(LevelId::global), testing::Each(""));
    cluster.lose({0, 1});
    const auto outcome = cluster.restore();
    ASSERT_FALSE(outcome.error) << outcome.error->text();
    ASSERT_EQ(cluster.wrong_ranks(), std::vector<std::uint32_t>{});
  }
}

// The table of places: HDF5 would read what is wrong there as if it were right. HDF5 itself sees no file that changed
// outside of its data.
TEST(GlobalLevel, reads_no_file_that_changed_outside_of_its_data) {
  HeadCluster cluster(layout_of_ranks({1, 2}), [](std::uint32_t rank) { return 50 * rank; });
  cluster.protect(level_set({LevelId::global}));
  const auto manifest = read_global_manifest(cluster.global(), cluster.dir(), {});
  ASSERT_TRUE(manifest);
  const FileName file = names::node_file(cluster.dir(), NodeId{1});
  for (const std::uint64_t at : {manifest->node_files[1].table, std::uint64_t{20}, manifest->node_file_bytes[1] - 1}) {
    SCOPED_TRACE(at);
    cluster.put_back();
    ASSERT_TRUE(cluster.global().corrupt(file, at));
    cluster.lose({0, 1});
    const auto outcome = cluster.restore();
    ASSERT_TRUE(outcome.error);
    EXPECT_EQ(outcome.error->code, Code::unrecoverable) << outcome.error->text();
    for (const Rank rank : {Rank{1}, Rank{2}})
      EXPECT_TRUE(outcome.strikes.contains({StoreId::global(), names::shard(cluster.dir(), rank).path}));
  }
}

// However many nodes there are: the manifest names every rank of the job.
TEST(GlobalLevel, has_one_head_read_the_manifest_for_all) {
  Job job({2, 2, 2, 2}, "[levels]\nl1 = every 1\nl2 = off\nl3 = off\nl4 = every 1\n");
  job.run_well_and_die([](JobSession& session) {
    Steps steps(session);
    steps.restore();
    steps.advance_by(1);
    steps.wait_for_all();
  });
  for (std::uint32_t node = 0; node < job.nodes(); ++node) job.lose(node);
  std::mutex mutex;
  std::set<std::thread::id> readers;
  job.wrap_global = [&](std::shared_ptr<Store> store) {
    auto hooked = std::make_shared<HookedStore>(store, [](const HookedStore::Operation&) { return Status{}; });
    hooked->on_read = [&](const std::string& path) -> Status {
      const std::scoped_lock lock(mutex);
      if (path.ends_with("manifest.json")) readers.insert(std::this_thread::get_id());
      return {};
    };
    return hooked;
  };
  job.run_well_and_die([](JobSession& session) { EXPECT_EQ(Steps(session).restore(), 1U); });
  EXPECT_EQ(readers.size(), 1U);
}

TEST(LocalLevel, survives_no_loss_of_a_node) {
  HeadCluster cluster(layout_of_ranks({1, 2, 1}), [](std::uint32_t rank) { return 50 * rank; });
  cluster.protect(LevelSet{});
  expect_all_that_can_survive(cluster);
}

}  // namespace
}  // namespace cairn::test
