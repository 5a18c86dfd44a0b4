// What is kept, what is recycled, and what happens when a head is slower than its ranks.
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/names.hpp"
#include "support/facts.hpp"
#include "support/hooked_store.hpp"
#include "support/job.hpp"
#include "support/steps.hpp"

namespace cairn::test {
namespace {

using testing::ElementsAreArray;

constexpr std::uint32_t kSteps = 11;

struct Keep {
  std::uint32_t local, rotation, global;
};

// Levels every 1, 2, 3, 4 snapshots.
std::string settings(const Keep& keep) {
  return fmt::format(
      "[storage]\nkeep_local = {}\nkeep_global = {}\n[levels]\nl1 = every 1\nl2 = every 2\nl3 = every 3\nl4 = every 4\n"
      "[partner]\nrotation = {}\n[erasure]\ngroup = 5\nparity = 1\n[restart]\nat_end = continue\n",
      keep.local, keep.global, keep.rotation);
}

// The newest `count` of those that were raised to a level with this interval.
void add_newest(std::set<std::uint32_t>& kept, std::uint32_t interval, std::uint32_t count) {
  for (std::uint32_t version = kSteps; version > 0 && count > 0; --version) {
    if (version % interval != 0) continue;
    kept.insert(version);
    --count;
  }
}

void take_steps(Job& job) {
  job.run([](JobSession& session) {
    Steps steps(session, 300);
    steps.restore();
    steps.advance_by(kSteps);
    steps.wait_for_all();
  });
}

TEST(Retention, keeps_the_newest_of_every_level_and_nothing_else) {
  for (const Keep& keep : {Keep{1, 1, 1}, Keep{2, 1, 1}, Keep{4, 2, 2}, Keep{1, 3, 3}}) {
    SCOPED_TRACE(fmt::format("keep_local {}, rotation {}, keep_global {}", keep.local, keep.rotation, keep.global));
    Job job({2, 2, 2, 2, 2}, settings(keep));
    take_steps(job);
    std::set<std::uint32_t> on_nodes;
    add_newest(on_nodes, 1, keep.local);
    add_newest(on_nodes, 2, keep.rotation);
    add_newest(on_nodes, 3, 1);
    for (std::uint32_t node = 0; node < job.nodes(); ++node) {
      const Contents contents = contents_of(job.node_store(node));
      EXPECT_THAT(contents.versions, ElementsAreArray(on_nodes)) << "node " << node;
      EXPECT_EQ(contents.without_manifest, 0U) << "node " << node;
    }
    // 4, 8, and the last one, which finalize puts there.
    std::vector<std::uint32_t> on_global{4, 8, 11};
    on_global.erase(on_global.begin(), on_global.end() - std::min<std::ptrdiff_t>(3, keep.global));
    EXPECT_THAT(contents_of(job.global_store()).versions, ElementsAreArray(on_global));
    EXPECT_EQ(contents_of(job.global_store()).partial, 0U);
  }
}

TEST(Retention, still_holds_after_a_restart) {
  Job job({2, 2, 2, 2, 2}, settings({1, 1, 1}));
  take_steps(job);
  job.run([](JobSession& session) {
    Steps steps(session, 300);
    EXPECT_EQ(steps.restore(), kSteps);
    steps.advance_by(6);
    steps.wait_for_all();
  });
  // Newest at L1: 17, at L2: 16, at L3: 15.
  for (std::uint32_t node = 0; node < job.nodes(); ++node) {
    EXPECT_THAT(contents_of(job.node_store(node)).versions, testing::ElementsAre(15, 16, 17)) << "node " << node;
  }
  EXPECT_THAT(contents_of(job.global_store()).versions, testing::ElementsAre(17));
}

// Counts the shards that are written and given back, by owner.
struct Recycling {
  std::mutex mutex;
  std::map<std::string, int> written;
  std::map<std::string, int> given_back;

  Status note(const HookedStore::Operation& operation) {
    const std::scoped_lock lock(mutex);
    if (!operation.path.ends_with(".shard")) return {};
    if (operation.kind == HookedStore::Operation::Kind::create) ++written[operation.owner];
    if (operation.kind == HookedStore::Operation::Kind::retire) ++given_back[operation.owner];
    return {};
  }
};

TEST(Retention, gives_every_retired_shard_back_to_the_rank_that_wrote_it) {
  Recycling recycling;
  Job job({3, 3}, "[storage]\nkeep_local = 2\n[levels]\nl2 = off\nl3 = off\nl4 = off\n[restart]\nat_end = continue\n");
  job.wrap_node = [&](std::uint32_t, std::shared_ptr<Store> store) {
    return std::make_shared<HookedStore>(store, [&](const auto& operation) { return recycling.note(operation); });
  };
  take_steps(job);
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    const std::string owner = names::owner_rank(Rank{rank});
    EXPECT_EQ(recycling.written[owner], static_cast<int>(kSteps)) << owner;
    EXPECT_EQ(recycling.given_back[owner], static_cast<int>(kSteps - 2)) << owner;
  }
}

// A gate in the way of node 0's head, at its first manifest: closed until somebody opens it.
class Gate {
 public:
  Status pass(const HookedStore::Operation& operation) {
    if (operation.kind != HookedStore::Operation::Kind::create || !operation.path.ends_with("manifest.json")) return {};
    std::unique_lock lock(mutex_);
    opened_.wait(lock, [this] { return open_; });
    return {};
  }
  void open() {
    const std::scoped_lock lock(mutex_);
    open_ = true;
    opened_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable opened_;
  bool open_ = false;
};

// keep_local = 1: three snapshots may be in the store at once.
std::string slow_settings(const std::string& wait_limit) {
  return "[job]\non_storage_error = throw\n[storage]\nkeep_local = 1\n[levels]\nl1 = every 1\nl2 = off\nl3 = off\nl4 = "
         "off\n[head]\nwait_limit = " +
         wait_limit + "\n[restart]\nat_end = continue\n";
}

TEST(BackPressure, makes_a_snapshot_wait_for_its_head_and_then_go_on) {
  Gate gate;
  std::atomic<bool> at_fourth{false};
  Job job({2, 2}, slow_settings("10min"));
  job.wrap_node = [&](std::uint32_t node, std::shared_ptr<Store> store) -> std::shared_ptr<Store> {
    if (node != 0) return store;
    auto slow = std::make_shared<HookedStore>(store, [&](const auto& operation) { return gate.pass(operation); });
    // Opened by rank 0 itself, once it waits.
    slow->on_wait_for_head = [&] {
      if (at_fourth) gate.open();
    };
    return slow;
  };
  job.run([&](JobSession& session) {
    Steps steps(session);
    steps.restore();
    steps.advance_by(3);
    EXPECT_EQ(session.waited_seconds(), 0.0);
    if (session.rank() == 0) at_fourth = true;
    EXPECT_EQ(steps.advance(), 4U);
    if (session.rank() == 0) {
      EXPECT_GT(session.waited_seconds(), 0.0);
    }
  });
  job.run([](JobSession& session) { EXPECT_EQ(Steps(session).restore(), 4U); });
}

TEST(BackPressure, beyond_the_limit_is_an_error_that_names_rank_and_versions) {
  Gate gate;
  Job job({2, 2}, slow_settings("50ms"));
  job.clock = real_time;
  job.wrap_node = [&](std::uint32_t node, std::shared_ptr<Store> store) -> std::shared_ptr<Store> {
    if (node != 0) return store;
    return std::make_shared<HookedStore>(store, [&](const auto& operation) { return gate.pass(operation); });
  };
  std::atomic<int> told{0};
  job.run_and_die([&](JobSession& session) {
    Steps steps(session);
    steps.restore();
    steps.advance_by(3);
    EXPECT_THAT(thrown_by([&] { steps.advance(); }),
                Fails(ErrorKind::storage,
                      {fmt::format("rank {}", session.rank()), "0.05 s", "version 1", "version 3", "wait_limit"}));
    EXPECT_GT(session.waited_seconds(), 0.0);
    if (++told == 2) gate.open();
    // With the gate open, the job goes on. The number 4 is used up, as it is on ranks that did not wait in vain.
    (void)thrown_by([&] { session.wait(LevelId::local); });
    EXPECT_EQ(steps.advance(), 5U);
    session.wait(LevelId::local);
  });
  gate.open();
  EXPECT_TRUE(job.errors().empty()) << job.errors().begin()->second;
}

// It may have room for the next snapshot all the same; and nobody will free that slot.
TEST(BackPressure, waits_for_no_slot_that_the_store_does_not_give_back) {
  Job job({2, 2}, slow_settings("10min"));
  job.wrap_node = [](std::uint32_t node, std::shared_ptr<Store> store) -> std::shared_ptr<Store> {
    if (node != 0) return store;
    return std::make_shared<HookedStore>(store, [](const HookedStore::Operation& operation) -> Status {
      if (operation.kind == HookedStore::Operation::Kind::remove) return fail(Code::io, "nothing can be removed");
      return {};
    });
  };
  job.run_well_and_die([](JobSession& session) {
    Steps steps(session);
    steps.restore();
    steps.advance_by(6);
    session.wait(LevelId::local);
    EXPECT_EQ(session.safe_version(LevelId::local), 6U);
  });
  job.wrap_node = {};
  job.run([](JobSession& session) { EXPECT_EQ(Steps(session).restore(), 6U); });
  EXPECT_THAT(contents_of(job.node_store(0)).versions, testing::ElementsAre(6)) << "the others went later";
}

}  // namespace
}  // namespace cairn::test
