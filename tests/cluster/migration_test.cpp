// A job that comes back in another shape, another life, or as another program.
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "format/manifest.hpp"
#include "store/names.hpp"
#include "support/facts.hpp"
#include "support/hooked_store.hpp"
#include "support/job.hpp"
#include "support/steps.hpp"

namespace cairn::test {
namespace {

// Levels by a digit each: which are due at every snapshot.
std::string settings(const std::string& levels, std::uint32_t parity = 1) {
  const auto due = [&](char level) { return levels.find(level) == std::string::npos ? "off" : "every 1"; };
  return fmt::format(
      "[levels]\nl1 = every 1\nl2 = {}\nl3 = {}\nl4 = {}\n[erasure]\nparity = {}\n[restart]\nat_end = continue\n",
      due('2'), due('3'), due('4'), parity);
}

// Layouts that a node's newest manifest knows.
std::vector<Layout> layouts_on(const MemoryStore& store) {
  std::vector<Layout> layouts;
  const auto entries = store.list(DirName{});
  if (!entries) return layouts;
  for (const Entry& entry : *entries) {
    const auto manifest = read_node_manifest(store, DirName{entry.name}, {});
    if (!manifest) continue;
    layouts.clear();
    for (const Holding& holding : manifest->holdings) layouts.push_back(holding.layout);
  }
  return layouts;
}

// 8 compute ranks and a head a node, in several shapes.
const std::vector<std::vector<std::uint32_t>> kShapes = {{5, 4, 2}, {2, 2, 2, 2, 2, 2, 2, 2}, {2, 2, 7}, {5, 5}};

TEST(Migration, ranks_find_their_shards_wherever_they_start) {
  for (const auto& shape : kShapes) {
    SCOPED_TRACE(fmt::format("{} nodes", shape.size()));
    Job job({3, 3, 3, 3}, settings("23"));
    take_steps(job, 3);
    job.reshape(shape);
    // Where there are fewer nodes, the stores of the others are not seen.
    for (auto node = static_cast<std::uint32_t>(shape.size()); node < 4; ++node) job.lose(node);
    if (shape.size() == 2) {
      job.run_well_and_die([](JobSession& session) {
        const Thrown text = thrown_by([&] { Steps(session).restore(); });
        EXPECT_THAT(text, Fails(ErrorKind::unrecoverable, {"version 3", "node 2", "node 3"}));
      });
      continue;
    }
    expect_restore(job, 3);
  }
}

// As a scheduler may list them in another order. The shape is the same, and nodes are others.
TEST(Migration, finds_shards_where_nodes_have_changed_places_again_and_again) {
  for (const char* levels : {"1", "2", "3", "23"}) {
    SCOPED_TRACE(levels);
    const std::vector<std::uint32_t> shape = {2, 2, 2};
    Job job(shape, settings(levels));
    take_steps(job, 1);
    for (const std::vector<std::uint32_t>& hosts :
         {std::vector{1U, 0U, 2U}, std::vector{1U, 0U, 2U}, std::vector{2U, 1U, 0U}, std::vector{0U, 1U, 2U}}) {
      job.reshape(shape, hosts);
      expect_restore(job, 1);
      expect_restore(job, 1);
    }
    take_steps(job, 2);
    expect_restore(job, 3);
  }
}

TEST(Migration, survives_as_much_as_before_where_nodes_have_changed_places) {
  for (const char* levels : {"2", "3"}) {
    SCOPED_TRACE(levels);
    const std::vector<std::uint32_t> shape = {2, 2, 2};
    Job job(shape, settings(levels));
    take_steps(job, 1);
    for (const std::uint32_t lost : {2U, 0U, 1U}) {
      job.reshape(shape, {lost, (lost + 1) % 3, (lost + 2) % 3});
      job.run_well_and_die([](JobSession& session) {
        Steps steps(session);
        EXPECT_EQ(steps.restore(), 1U);
        steps.wait_for_all();
        session.finalize();
      });
      EXPECT_EQ(layouts_on(job.node_store(lost)).size(), 1U) << "the old arrangement has its day";
      job.lose(lost);
    }
    expect_restore(job, 1);
  }
}

TEST(Migration, rebuilds_redundancy_for_the_new_shape_and_drops_the_old) {
  for (const char* level : {"2", "3"}) {
    for (std::uint32_t lost = 0; lost < 3; ++lost) {
      SCOPED_TRACE(testing::Message() << "L" << level << ", node " << lost << " lost after migration");
      Job job({3, 3, 3, 3}, settings(level));
      take_steps(job, 2);
      job.reshape({5, 4, 2});
      job.run([](JobSession& session) { EXPECT_EQ(Steps(session).restore(), 2U); });
      job.lose_global_snapshots();
      for (std::uint32_t node = 0; node < 3; ++node) {
        const auto layouts = layouts_on(job.node_store(node));
        ASSERT_EQ(layouts.size(), 1U) << "node " << node;
        EXPECT_EQ(layouts.front().nodes, 3U);
        const std::string today = names::hex(layouts.front().id());
        for (const auto& [path, bytes] : image_of(job.node_store(node))) {
          if (path.find("v00000002") != 0 || path.ends_with(".shard") || path.ends_with(".json")) continue;
          EXPECT_NE(path.find(today), std::string::npos) << path << " on node " << node;
        }
      }
      job.lose(lost);
      expect_restore(job, 2);
    }
  }
}

// A job killed while it rebuilds in the new shape has the old redundancy, the new, or both.
TEST(Migration, cut_short_loses_nothing_that_was_protected) {
  Job job({3, 3, 3, 3}, settings("23"));
  take_steps(job, 2);
  const Job::Image image = job.image();
  for (std::uint32_t lost = 0; lost < 4; ++lost) {
    for (int turn = 0; turn < 3; ++turn) {
      SCOPED_TRACE(testing::Message() << "node " << lost << " lost, turn " << turn);
      job.put_back(image);
      job.reshape({5, 4, 2});
      expect_restore(job, 2);  // killed as soon as the last rank is restored
      job.lose(lost);
      job.reshape({3, 3, 3, 3});
      expect_restore(job, 2);
    }
  }
}

// A job of one node comes back on four, and cannot record at first that it does so.
void move_and_fail_to_record(Job& job, const std::function<void(JobSession&)>& then) {
  take_steps(job, 2);
  job.configure(settings("2"));
  job.reshape({2, 2, 2, 2});
  std::atomic<bool> failed{false};
  job.wrap_global = [&](std::shared_ptr<Store> store) -> std::shared_ptr<Store> {
    return std::make_shared<HookedStore>(std::move(store), [&](const HookedStore::Operation& operation) -> Status {
      if (!names::parse_run_record(operation.path) || failed.exchange(true)) return {};
      return fail(Code::io, operation.path + ": no record today");
    });
  };
  job.run([&](JobSession& session) {
    EXPECT_THAT(thrown_by([&] { Steps(session).restore(); }), Fails(ErrorKind::storage, {"no record today"}));
    then(session);
  });
  job.wrap_global = {};
}

// The application was told that its restore failed. So what was moved takes the place of nothing.
TEST(Migration, that_could_not_be_recorded_removes_nothing) {
  Job job({5}, settings(""));
  move_and_fail_to_record(job, [](JobSession&) {});
  job.reshape({5});
  expect_restore(job, 2);
}

TEST(Migration, that_is_recorded_at_the_second_try_rebuilds_redundancy) {
  Job job({5}, settings(""));
  move_and_fail_to_record(job, [](JobSession& session) { EXPECT_EQ(Steps(session).restore(), 2U); });
  job.lose_global_snapshots();
  job.lose(0);
  expect_restore(job, 2);
}

// What cannot be built in the new shape is an error that is told, and what there was in the old one stays.
TEST(Migration, keeps_the_old_redundancy_when_the_new_cannot_be_built) {
  for (const std::string level : {"2", "3"}) {
    Job job({3, 3, 3, 3}, "[job]\non_storage_error = throw\n" + settings(level));
    take_steps(job, 2);
    job.reshape({2, 4, 3, 3});
    job.wrap_node = [](std::uint32_t node, std::shared_ptr<Store> store) -> std::shared_ptr<Store> {
      if (node != 1) return store;
      return std::make_shared<HookedStore>(store, [](const HookedStore::Operation& operation) -> Status {
        const bool redundant = names::parse_copy(operation.path.substr(operation.path.find('/') + 1)) ||
                               names::parse_parity(operation.path.substr(operation.path.find('/') + 1));
        if (!redundant || operation.kind != HookedStore::Operation::Kind::create) return {};
        return fail(Code::no_space, operation.path + ": the store is full");
      });
    };
    EXPECT_THAT(thrown_by([&] { job.run([](JobSession& session) { EXPECT_EQ(Steps(session).restore(), 2U); }); }),
                Fails(ErrorKind::storage, {"version 2", "L" + level}));
    job.wrap_node = {};
    job.lose_global_snapshots();
    job.reshape({3, 3, 3, 3});
    job.lose(2);
    expect_restore(job, 2);
  }
}

// L3 is off now, so the parity of the old shape, with the shards that it needs, is all the L3 there is. A node and the
// one that always has its copies are lost.
TEST(Migration, keeps_the_old_parity_when_only_copies_are_built) {
  const std::string rotation = "[partner]\nrotation = 1\n";
  for (std::uint32_t lost = 0; lost < 4; ++lost) {
    SCOPED_TRACE(testing::Message() << "nodes " << lost << " and " << (lost + 1) % 4 << " lost");
    Job job({3, 2, 2, 2}, settings("23", 2) + rotation);
    take_steps(job, 1);
    job.configure(settings("2") + rotation);
    job.reshape({2, 3, 2, 2});
    job.run([](JobSession& session) { EXPECT_EQ(Steps(session).restore(), 1U); });
    job.lose_global_snapshots();  // finalize has raised it
    for (const std::uint32_t node : {lost, (lost + 1) % 4}) job.lose(node);
    expect_restore(job, 1);
  }
}

TEST(Migration, goes_on_and_on_from_shape_to_shape) {
  Job job({3, 3, 3, 3}, settings("23"));
  std::uint32_t step = 0;
  for (const std::vector<std::uint32_t>& shape :
       {std::vector<std::uint32_t>{3, 3, 3, 3}, {5, 4, 2}, {3, 3, 3, 3}, {2, 2, 4, 4}, {3, 3, 3, 3}}) {
    job.reshape(shape);
    job.lose(step % 3);
    job.run([&](JobSession& session) {
      Steps steps(session);
      EXPECT_EQ(steps.restore(), step);
      steps.advance_by(2);
      steps.wait_for_all();
    });
    step += 2;
  }
}

// Of a program that does not say what its regions are to the whole job.
TEST(Mismatch, of_the_number_of_ranks_is_refused_with_both_and_loses_nothing) {
  for (const char* elastic : {"on", "off"}) {
    Job job({3, 3}, settings("23") + fmt::format("elastic = {}\n", elastic));
    take_steps(job, 2);
    job.reshape({3, 4});
    job.run_well_and_die([](JobSession& session) {
      Steps steps(session);
      EXPECT_THAT(thrown_by([&] { steps.restore(); }), Fails(ErrorKind::mismatch, {"version 2", "4", "5"}));
    });
    job.reshape({3, 3});
    job.run([](JobSession& session) { EXPECT_EQ(Steps(session).restore(), 2U); });
  }
}

TEST(Mismatch, of_the_number_of_ranks_is_refused_from_the_global_store_too) {
  Job job({3, 3}, settings("234"));
  take_steps(job, 2);
  job.lose(0);
  job.lose(1);
  job.reshape({2, 2, 2});
  job.run_well_and_die([](JobSession& session) {
    const Thrown text = thrown_by([&] { session.restore(); });
    EXPECT_THAT(text, Fails(ErrorKind::mismatch, {"version 2", "4", "3"}));
  });
}

TEST(Mismatch, of_names_or_types_is_refused_with_the_differences) {
  Job job({2, 2}, settings("23"));
  take_steps(job, 1);
  const Job::Image image = job.image();
  const auto refusal = [&](const Things& differences, const std::function<void(JobSession&)>& protect) {
    job.put_back(image);
    job.run_well_and_die([&](JobSession& session) {
      protect(session);
      const Thrown text = thrown_by([&] { session.restore(); });
      EXPECT_THAT(text, Fails(ErrorKind::mismatch, differences));
    });
  };
  std::vector<double> doubles;
  std::vector<float> floats;
  std::uint32_t step = 0;
  refusal({"velocity", "float64[0]", "state"}, [&](JobSession& session) {
    session.protect("velocity", doubles);
    session.protect("step", step);
  });
  refusal({"velocity", "float32[0]"}, [&](JobSession& session) {
    session.protect("state", doubles);
    session.protect("step", step);
    session.protect("velocity", floats);
  });
  refusal({"velocity", "float64[0]", "step"}, [&](JobSession& session) {
    session.protect("state", floats);
    session.protect("velocity", doubles);
  });
}

TEST(Mismatch, leaves_the_snapshot_for_who_protects_what_is_in_it) {
  Job job({2, 2}, settings("23"));
  take_steps(job, 3);
  job.run_well_and_die([](JobSession& session) {
    std::vector<float> state;
    session.protect("state", state);
    EXPECT_THROW(session.restore(), Exception);
    EXPECT_THROW(session.snapshot(), Exception);
  });
  expect_restore(job, 3);
}

// Two lives that gave their snapshots the same numbers: half of the stores of the first come back beside half of the
// second's.
class TwoLives : public testing::Test {
 protected:
  static constexpr std::uint32_t kOther = 1000;  // steps of the second life start here

  static std::uint32_t step_of(JobSession& session) {
    Steps steps(session);
    return steps.restore();
  }

  void live_twice(Job& job) {
    take_steps(job, 4);
    const Job::Image first = job.image();
    for (std::uint32_t node = 0; node < 4; ++node) job.lose(node);
    job.global_store().wipe();
    job.run_well_and_die([](JobSession& session) {
      std::uint32_t step = 0;
      std::vector<double> state;
      session.protect("state", state);
      session.protect("step", step);
      EXPECT_FALSE(session.restore().restored);
      for (std::uint32_t version = 1; version <= 4; ++version) {
        step = kOther + version;
        state = sample_state(session.rank(), step);
        EXPECT_EQ(session.snapshot(), version);
      }
      for (const LevelId level : kEveryLevel) session.wait(level);
    });
    for (const std::uint32_t node : {2U, 3U}) put_back(job.node_store(node), first.nodes[node]);
    // As stores were that did not say which chain they belong to; where they do, they are not even looked at together.
    ASSERT_TRUE(job.global_store().remove(names::chain_mark()));
    for (std::uint32_t node = 0; node < 4; ++node) ASSERT_TRUE(job.node_store(node).remove(names::chain_mark()));
  }
};

TEST_F(TwoLives, are_never_mixed_and_refused_when_neither_is_whole) {
  Job job({2, 2, 2, 2}, settings("23"));
  live_twice(job);
  job.run_well_and_die([](JobSession& session) {
    const Thrown text = thrown_by([&] { step_of(session); });
    EXPECT_THAT(text, Fails(ErrorKind::unrecoverable, {"version 4", "node 2", "node 3", "node 0", "node 1"}));
  });
}

TEST_F(TwoLives, are_never_mixed_when_one_of_them_is_whole) {
  Job job({2, 2, 2, 2}, settings("234"));
  live_twice(job);
  job.run_well_and_die([](JobSession& session) { EXPECT_EQ(step_of(session), kOther + 4); });
}

// With two nodes of parity either life is whole, and nothing says which is meant; all ranks go on from the same.
TEST_F(TwoLives, are_never_mixed_when_both_are_whole) {
  Job job({2, 2, 2, 2}, settings("3", 2));
  live_twice(job);
  std::mutex mutex;
  std::set<std::uint32_t> steps;
  job.run_well_and_die([&](JobSession& session) {
    const std::uint32_t step = step_of(session);
    const std::scoped_lock lock(mutex);
    steps.insert(step);
  });
  EXPECT_TRUE(steps == std::set<std::uint32_t>{4} || steps == std::set<std::uint32_t>{kOther + 4});
}

// A host that was away has a newer snapshot than the job went on from without it: its number is given again, and comes
// back as what was taken with the stores that are there.
TEST(Migration, a_number_is_given_again_where_nobody_knows_it_and_each_host_brings_back_its_own) {
  Job job({2},
          "[levels]\nl1 = every 1\nl2 = off\nl3 = off\nl4 = every 2\n"
          "[storage]\nkeep_local = 2\n[restart]\nat_end = continue\n");
  take_steps(job, 3);
  job.reshape({2}, {1});
  job.run_well_and_die([](JobSession& session) {
    Steps steps(session);
    EXPECT_EQ(steps.restore(), 2U);  // the newest of the global store
    for (int step = 0; step < 10; ++step) steps.compute();
    EXPECT_EQ(steps.advance(), 3U);
    session.wait(LevelId::local);
  });
  expect_restore(job, 13);
  job.reshape({2}, {0});
  expect_restore(job, 3);
}

}  // namespace
}  // namespace cairn::test
