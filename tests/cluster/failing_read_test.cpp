// Reads that fail, once or for as long as the job lives, of each kind of file and in each kind of work: what can be had
// otherwise is, errors name the file, nothing is deleted that is still needed, and the job goes on.
#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "format/shard.hpp"
#include "store/names.hpp"
#include "support/code_name.hpp"
#include "support/facts.hpp"
#include "support/hooked_store.hpp"
#include "support/powered_job.hpp"
#include "support/read_fault.hpp"
#include "support/store_image.hpp"

// HDF5 forgets some bytes of its own when a read fails under it. The leak sanitizer asks for this by name.
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() { return "leak:libhdf5"; }

namespace cairn::test {
namespace {

constexpr const char* kSettings =
    "[storage]\nkeep_global = 2\n[levels]\nl1 = every 1\nl2 = every 1\nl3 = every 1\nl4 = every 1\n"
    "[erasure]\ngroup = 3\nparity = 1\n[restart]\nat_end = continue\n";
constexpr std::array kKinds = {".shard",        ".copy", "parity.",    "manifest.json", "node0",
                               "checkpoint.h5", "run-",  "chain.json", "costs.json",    "v0000"};
constexpr std::array kCodes = {Code::io, Code::not_found, Code::corrupt};

// All kinds of failures, of reads drawn by a seed, until the n-th read does not come any more.
void for_each_failure(ReadFault& fault, const std::function<void(const ReadFault::Plan& plan)>& try_it) {
  std::mt19937 random(1);
  std::uniform_int_distribution<std::uint64_t> stride(1, 25);
  for (const char* kind : kKinds) {
    for (const bool lasts : {false, true}) {
      for (std::uint64_t n = stride(random) / 6;; n += stride(random)) {
        const ReadFault::Plan plan{kind, n, kCodes.at((n + (lasts ? 1 : 0)) % kCodes.size()), lasts};
        fault.set(plan);
        try_it(plan);
        ASSERT_FALSE(testing::Test::HasFailure()) << "read " << n << " of " << kind << ", which is of " << fault.path()
                                                  << ": " << name(plan.code) << (lasts ? " from then on" : " once");
        if (!fault.struck()) break;
      }
    }
  }
}

// Two steps at all levels.
Job::Image take_steps(Job& job, Told& told) {
  job.run_well_and_die([&](JobSession& session) {
    TellingSteps steps(session, told);
    EXPECT_TRUE(steps.restore());
    steps.advance();
    steps.advance();
    steps.wait();
  });
  return job.image();
}

// What ranks are told.
class Said {
 public:
  explicit Said(const ReadFault& fault) : fault_(fault) {}
  void note(const Thrown& thrown) {
    const std::scoped_lock lock(mutex_);
    for (const Failure& failure : thrown) text_ += failure.text + "\n";
  }
  // Somewhere the file is named; others may hear only of the node that met it.
  void expect_named() const { EXPECT_THAT(text_, testing::AnyOf(testing::IsEmpty(), Names({fault_.path()}))); }
  void expect_nothing() const { EXPECT_EQ(text_, ""); }

 private:
  const ReadFault& fault_;
  std::mutex mutex_;
  std::string text_;
};

// A step more and the end; each call is made, whatever the ones before said.
Thrown go_on(JobSession& session, TellingSteps& steps) {
  return thrown_by([&] { steps.advance(); }, [&] { steps.wait(); }, [&] { session.finalize(); });
}

// After a loss, which is another one each time.
void expect_promises_kept(Job& job, const Told& told, bool node_was_lost, const ReadFault::Plan& plan) {
  LevelId survives = LevelId::local;
  if (plan.at % 3 == 1 && !node_was_lost) {
    survives = LevelId::partner;
    job.lose(static_cast<std::uint32_t>(plan.at / 3 % job.nodes()));
  } else if (plan.at % 3 == 2) {
    survives = LevelId::global;
    for (std::uint32_t node = 0; node < job.nodes(); ++node) job.lose(node);
  }
  EXPECT_EQ(broken(told, reopen(job, 0), survives), "") << "L" << static_cast<int>(survives) << " and above survive";
}

TEST(FailingRead, in_a_restore_costs_nothing_that_can_be_had_otherwise) {
  for (const bool node_lost : {false, true}) {
    SCOPED_TRACE(node_lost ? "a node lost" : "nothing lost");
    Job job({2, 2, 2}, kSettings);
    job.log_level = "off";
    Told told;
    take_steps(job, told);
    if (node_lost) job.lose(1);
    const Job::Image image = job.image();
    ReadFault fault;
    fault.watch(job);
    for_each_failure(fault, [&](const ReadFault::Plan& plan) {
      job.put_back(image);
      Told now;
      for (const LevelId level : kEveryLevel) now.is_safe(level, told.newest(level));
      now.is_tried(told.tried);
      Said said(fault);
      fault.arm();
      job.run_well_and_die([&](JobSession& session) {
        TellingSteps steps(session, now);
        EXPECT_TRUE(steps.restore());
        EXPECT_EQ(steps.step(), 2U);
        fault.settle();
        if (plan.at % 2 == 0) said.note(go_on(session, steps));
      });
      said.expect_named();
      if (!plan.lasts) said.expect_nothing();
      fault.disarm();
      expect_promises_kept(job, now, node_lost, plan);
    });
  }
}

TEST(FailingRead, in_the_work_behind_snapshots_is_told_and_the_next_one_is_safe) {
  ReadFault fault;
  for_each_failure(fault, [&](const ReadFault::Plan& plan) {
    Job job({2, 2, 2}, kSettings);
    job.log_level = "off";
    fault.watch(job);
    Told told;
    Said said(fault);
    job.run_well_and_die([&](JobSession& session) {
      TellingSteps steps(session, told);
      EXPECT_TRUE(steps.restore());
      fault.arm();
      for (int i = 0; i < 2; ++i) said.note(thrown_by([&] { steps.advance(); }, [&] { steps.wait(); }));
      fault.settle();
      const Thrown end = go_on(session, steps);
      said.note(end);
      EXPECT_TRUE(plan.lasts || end.empty()) << testing::PrintToString(end);
    });
    said.expect_named();
    fault.disarm();
    expect_promises_kept(job, told, false, plan);
  });
}

TEST(FailingRead, while_what_was_lost_is_made_again_deletes_nothing) {
  Job job({2, 2, 2}, kSettings);
  job.log_level = "off";
  Told told;
  take_steps(job, told);
  job.lose(1);
  const Job::Image image = job.image();
  ReadFault fault;
  fault.watch(job);
  for_each_failure(fault, [&](const ReadFault::Plan& plan) {
    job.put_back(image);
    Said said(fault);
    job.run_well_and_die([&](JobSession& session) {
      TellingSteps steps(session, told);
      EXPECT_TRUE(steps.restore());
      fault.arm();
      said.note(thrown_by([&] { session.finalize(); }));
    });
    said.expect_named();
    fault.disarm();
    expect_promises_kept(job, told, true, plan);
  });
}

// All shards in the store of node 1.
void damage_shards(Job& job) {
  for (const auto& [path, bytes] : image_of(job.node_store(1))) {
    if (!path.ends_with(".shard")) continue;
    ASSERT_TRUE(job.node_store(1).corrupt(FileName{path}, 3 * kShardHeaderBytes));
  }
}

constexpr const char* kLocalAndGlobal =
    "[levels]\nl1 = every 1\nl2 = off\nl3 = off\nl4 = every 1\n[restart]\nat_end = continue\n";

// The only source is the global store, and each read of what came from it, by heads and ranks, fails once. What was at
// home is lost; or it is damaged, and found so first, by its rank or by the head: then the failed read is no news.
TEST(FailingRead, of_what_was_brought_home_has_it_brought_once_more) {
  for (const std::string home : {"lost", "verify = crc", "verify = sha256"}) {
    SCOPED_TRACE(home);
    Job job({2, 2}, kLocalAndGlobal + (home == "lost" ? "" : home + "\n"));
    job.log_level = "off";
    Told told;
    take_steps(job, told);
    if (home == "lost") {
      for (std::uint32_t node = 0; node < job.nodes(); ++node) job.lose(node);
    } else {
      damage_shards(job);
    }
    const Job::Image image = job.image();
    ReadFault fault;
    fault.watch(job);
    ReadFault::Plan plan{.part = ".shard"};
    do {
      SCOPED_TRACE(plan.at);
      job.put_back(image);
      fault.set(plan);
      fault.arm();
      job.run_well_and_die([&](JobSession& session) {
        TellingSteps steps(session, told);
        EXPECT_TRUE(steps.restore());
        EXPECT_EQ(steps.step(), 2U);
      });
      fault.disarm();
      ++plan.at;
    } while (fault.struck() && !HasFailure());
    EXPECT_GT(plan.at, 4U);
  }
}

// From the n-th read on, node 1 can read none of its shards, for every n: an answer must come. What is at L4 stays as
// good as it was, for an application that asks again.
TEST(FailingRead, of_all_that_is_brought_home_is_refused_in_the_end) {
  constexpr std::int64_t kAll = std::numeric_limits<std::int64_t>::max();
  for (const std::string verify : {"verify = crc\n", "verify = sha256\n"}) {
    SCOPED_TRACE(verify);
    Job job({2, 2}, kLocalAndGlobal + verify);
    job.log_level = "off";
    Told told;
    take_steps(job, told);
    damage_shards(job);
    const Job::Image image = job.image();
    std::atomic<std::int64_t> good_reads = kAll;
    job.wrap_node = [&](std::uint32_t node, std::shared_ptr<Store> store) -> std::shared_ptr<Store> {
      auto hooked = std::make_shared<HookedStore>(std::move(store), [](const auto& /*operation*/) { return Status{}; });
      hooked->on_read = [&good_reads, node](const std::string& path) -> Status {
        if (node != 1 || !path.ends_with(".shard") || good_reads-- > 0) return {};
        return fail(Code::io, path + ": injected");
      };
      return hooked;
    };
    std::int64_t n = 0;
    for (bool refused = true; refused; ++n) {
      SCOPED_TRACE(n);
      job.put_back(image);
      good_reads = n;
      job.run_well_and_die([&](JobSession& session) {
        TellingSteps steps(session, told);
        const Thrown said = thrown_by([&] { EXPECT_TRUE(steps.restore()); });
        if (session.rank() == 0) refused = !said.empty();
        if (said.empty()) return;
        EXPECT_THAT(said, testing::AnyOf(Fails(ErrorKind::storage, {"version 2"}), Fails(ErrorKind::unrecoverable)));
        good_reads = kAll;
        EXPECT_TRUE(steps.restore());
        EXPECT_EQ(steps.step(), 2U);
      });
      ASSERT_FALSE(HasFailure());
    }
    EXPECT_GT(n, 4);
  }
}

TEST(FailingRead, of_what_was_measured_leaves_it_as_it_is) {
  Job job({2, 2}, "[levels]\nl1 = every 1\nl2 = auto\nl3 = off\nl4 = off\n[restart]\nat_end = continue\n");
  const auto live = [&] {
    Told told;
    job.run([&](JobSession& session) {
      TellingSteps steps(session, told);
      EXPECT_TRUE(steps.restore());
      steps.advance();
    });
    return read_text(job.global_store(), names::costs()).value_or("");
  };
  const std::string before = live();
  EXPECT_NE(before, "");
  ReadFault fault;
  fault.watch(job);
  fault.set({.part = names::costs().path});
  fault.arm();
  EXPECT_EQ(live(), before);
  EXPECT_TRUE(fault.struck());
  EXPECT_NE(live(), before);
}

}  // namespace
}  // namespace cairn::test
