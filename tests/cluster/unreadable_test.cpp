// Manifests and records that are there and cannot be read: of a newer Cairn, or damaged. They are never taken for
// nothing, and a start that cannot go on leaves every store as it was.
#include <algorithm>
#include <atomic>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "format/json_file.hpp"
#include "store/names.hpp"
#include "support/facts.hpp"
#include "support/hooked_store.hpp"
#include "support/job.hpp"
#include "support/read_fault.hpp"
#include "support/sample_manifest.hpp"
#include "support/steps.hpp"

namespace cairn::test {
namespace {

constexpr const char* kLocal = "[levels]\nl1 = every 1\nl2 = off\nl3 = off\nl4 = off\n";
constexpr const char* kGlobal = "[levels]\nl1 = every 1\nl2 = off\nl3 = off\nl4 = every 1\n";
const std::string kContinue = "[restart]\nat_end = continue\n";
const std::string kFresh = "[restart]\nmode = fresh\nat_end = ";

using Change = std::function<std::string(const std::string&)>;

std::string newer(const std::string& text) {
  auto json = nlohmann::ordered_json::parse(text);
  json["format"] = 99;
  return sealed_again(json.dump());
}

std::string damaged(std::string text) {
  text[text.size() / 2] ^= 1;
  return text;
}

// Changes the files whose path has `part`; returns what is there then.
StoreImage change_files(MemoryStore& store, const std::string& part, const Change& change) {
  StoreImage image = image_of(store);
  StoreImage changed;
  for (auto& [path, bytes] : image) {
    if (path.find(part) == std::string::npos) continue;
    const std::string text = change(std::string(text_of(bytes)));
    bytes.assign(bytes_of(text).begin(), bytes_of(text).end());
    changed[path] = bytes;
  }
  EXPECT_FALSE(changed.empty()) << part;
  put_back(store, image);
  return changed;
}
std::optional<Failure> refusal_of(Job& job) {
  (void)thrown_by([&] { job.run([](JobSession& session) { Steps(session).restore(); }); });
  return job.cause();
}

void expect_untouched(Job& job, const Job::Image& before) {
  const Job::Image after = job.image();
  EXPECT_THAT(differences(before.global, after.global), testing::IsEmpty());
  for (std::uint32_t node = 0; node < job.nodes(); ++node)
    EXPECT_THAT(differences(before.nodes[node], after.nodes[node]), testing::IsEmpty()) << "node " << node;
}

struct Place {
  const char* name;
  std::function<std::vector<MemoryStore*>(Job&)> stores;
  const char* part;
};

std::vector<Place> places() {
  return {{"a node's manifest", [](Job& job) { return std::vector{&job.node_store(1)}; }, "manifest.json"},
          {"all nodes' manifests",
           [](Job& job) {
             return std::vector{&job.node_store(0), &job.node_store(1)};
           },
           "manifest.json"},
          {"the global manifest", [](Job& job) { return std::vector{&job.global_store()}; }, "manifest.json"},
          {"the run record", [](Job& job) { return std::vector{&job.global_store()}; }, "run-"}};
}

std::vector<Place> marks() {
  return {{"a node's mark", [](Job& job) { return std::vector{&job.node_store(1)}; }, "chain.json"},
          {"the global mark", [](Job& job) { return std::vector{&job.global_store()}; }, "chain.json"}};
}

TEST(Newer, is_refused_in_words_and_left_as_it_is) {
  std::vector<Place> all = places();
  std::ranges::copy(marks(), std::back_inserter(all));
  for (const Place& place : all) {
    SCOPED_TRACE(place.name);
    Job job({2, 2}, kGlobal + kContinue);
    take_steps(job, 2);
    for (MemoryStore* store : place.stores(job)) change_files(*store, place.part, newer);
    const Job::Image before = job.image();
    EXPECT_THAT(refusal_of(job), Fails(Code::newer_format, {place.part, "format 99", "[restart] mode = fresh"}));
    expect_untouched(job, before);
  }
}

// A newer version can be read, and is not whole: the job would go back to the one that has a newer manifest, and write
// another in its place.
TEST(Newer, is_refused_where_a_newer_version_can_be_read) {
  Job job({2, 2}, "[levels]\nl1 = every 1\nl2 = every 1\nl3 = off\nl4 = off\n" + kContinue);
  take_steps(job, 2);
  change_files(job.node_store(1), "v00000001",
               [](const std::string& text) { return text.starts_with("{") ? newer(text) : text; });
  const Job::Image before = job.image();
  EXPECT_THAT(refusal_of(job), Fails(Code::newer_format, {"format 99"}));
  expect_untouched(job, before);
}

// The same of a life whose record went with the global store, which no record says is of the past.
TEST(Newer, is_refused_of_a_life_that_has_no_record_any_more) {
  Job job({2, 2}, "[levels]\nl1 = every 1\nl2 = every 1\nl3 = off\nl4 = off\n[storage]\nkeep_local = 2\n" + kContinue);
  take_steps(job, 1);
  job.global_store().wipe();
  take_steps(job, 1);
  change_files(job.node_store(1), "v00000001",
               [](const std::string& text) { return text.starts_with("{") ? newer(text) : text; });
  const Job::Image before = job.image();
  EXPECT_THAT(refusal_of(job), Fails(Code::newer_format, {"format 99"}));
  expect_untouched(job, before);
}

// It says whose snapshots a store holds, which are the new chain's from then on.
TEST(Newer, mark_is_replaced_by_a_fresh_start) {
  for (const Place& place : marks()) {
    SCOPED_TRACE(place.name);
    Job job({2, 2}, kGlobal + kContinue);
    take_steps(job, 2);
    for (MemoryStore* store : place.stores(job)) change_files(*store, place.part, newer);
    job.configure(kGlobal + kFresh + "continue");
    job.run([](JobSession& session) {
      Steps steps(session);
      EXPECT_EQ(steps.restore(), 0U);
      steps.advance_by(5);
    });
    job.configure(kGlobal + kContinue);
    job.run([](JobSession& session) { EXPECT_EQ(Steps(session).restore(), 5U); });
  }
}

TEST(Newer, stays_beside_a_fresh_start_to_its_end) {
  for (const Place& place : places()) {
    for (const char* end : {"continue", "finished"}) {
      SCOPED_TRACE(testing::Message() << place.name << ", " << end);
      Job job({2, 2}, kGlobal + kContinue);
      take_steps(job, 2);
      std::vector<StoreImage> changed;
      for (MemoryStore* store : place.stores(job)) changed.push_back(change_files(*store, place.part, newer));
      job.configure(kGlobal + kFresh + end);
      job.run([](JobSession& session) {
        Steps steps(session);
        EXPECT_EQ(steps.restore(), 0U);
        steps.advance_by(5);
        steps.wait_for_all();
      });
      for (std::size_t i = 0; i < changed.size(); ++i) {
        const StoreImage now = image_of(*place.stores(job)[i]);
        for (const auto& [path, bytes] : changed[i]) {
          ASSERT_TRUE(now.contains(path)) << path;
          EXPECT_EQ(now.at(path), bytes) << path;
        }
      }
      // What is older than this start keeps nobody from going on.
      job.configure(kGlobal + kContinue);
      job.run_well_and_die([&](JobSession& session) {
        Steps steps(session);
        EXPECT_EQ(steps.restore(), std::string(end) == "continue" ? 5U : 0U);
      });
    }
  }
}

TEST(Damaged, run_record_and_a_node_away_is_no_fresh_start) {
  Job job({2, 2}, kLocal + kContinue);
  take_steps(job, 2);
  change_files(job.global_store(), "run-", damaged);
  const Job::Image all = job.image();
  job.lose(1);
  const Job::Image before = job.image();
  EXPECT_THAT(refusal_of(job), Fails(Code::unrecoverable, {"rank 1"}));
  expect_untouched(job, before);
  job.put_back(all);
  job.run_well_and_die([](JobSession& session) {
    Steps steps(session);
    EXPECT_EQ(steps.restore(), 2U);
  });
}

TEST(Damaged, manifests_and_no_records_are_no_fresh_start) {
  for (const bool records : {true, false}) {
    Job job({2, 2}, kLocal + kContinue);
    take_steps(job, 2);
    for (const std::uint32_t node : {0U, 1U}) change_files(job.node_store(node), "manifest.json", damaged);
    if (!records) job.global_store().wipe();
    const Job::Image before = job.image();
    EXPECT_THAT(refusal_of(job), Fails(Code::unrecoverable, {"manifest.json"}));
    expect_untouched(job, before);
    job.configure(kLocal + kFresh + "continue");
    job.run([](JobSession& session) {
      Steps steps(session);
      EXPECT_EQ(steps.restore(), 0U);
      steps.advance();
    });
  }
}

bool has_version(const MemoryStore& store, std::uint32_t version) {
  const auto versions = contents_of(store).versions;
  return std::ranges::find(versions, version) != versions.end();
}

// A directory is an orphan only if its manifest is not listed: one that cannot be found all the same may be found
// again.
TEST(Unfindable, manifest_that_is_listed_is_not_absent) {
  Job job({2, 2}, kLocal + kContinue);
  take_steps(job, 2);
  const StoreImage before = image_of(job.node_store(1));
  ReadFault fault;
  fault.watch(job);
  job.wrap_node = [wrap = job.wrap_node](std::uint32_t node, std::shared_ptr<Store> store) {
    return node == 1 ? wrap(node, std::move(store)) : store;
  };
  fault.set({.part = "v00000002", .at = 1, .code = Code::not_found});  // listed, and then opened
  fault.arm();
  job.run_well_and_die([](JobSession& session) {
    Steps steps(session);
    EXPECT_EQ(steps.restore(), 1U);
    steps.advance();
    steps.wait_for_all();
  });
  EXPECT_THAT(fault.path(), Names({"manifest.json"}));
  const StoreImage after = image_of(job.node_store(1));
  for (const auto& [path, bytes] : before) EXPECT_TRUE(after.contains(path)) << path;
}

// Whoever gives up what is lost must not give up what can be read again later.
TEST(Unlistable, snapshot_may_become_readable_where_the_others_are_lost) {
  Job job({2, 2}, kLocal);
  take_steps(job, 2);
  job.lose(1);
  job.wrap_node = [](std::uint32_t, std::shared_ptr<Store> store) -> std::shared_ptr<Store> {
    auto hooked = std::make_shared<HookedStore>(store, [](const HookedStore::Operation&) { return Status{}; });
    hooked->on_read = [](const std::string& path) -> Status {
      if (path.find("v00000002") == std::string::npos) return {};
      return fail(Code::io, path + ": a read failed");
    };
    return hooked;
  };
  EXPECT_THAT(refusal_of(job), Fails(Code::unreadable, {"version 1", "CAIRN_RESTART_MODE=fresh"}));
  job.wrap_node = {};
  EXPECT_THAT(refusal_of(job), Fails(Code::unrecoverable, {"version 2", "--fresh-if-unrecoverable"}));
}

// Without the global store's records nothing else says that there are snapshots.
TEST(Unlistable, snapshots_are_no_reason_to_call_a_later_restore_of_a_life_fresh) {
  Job job({2, 2}, kLocal);
  take_steps(job, 2);
  job.global_store().wipe();
  std::atomic<bool> fails = false;
  job.wrap_node = [&](std::uint32_t, std::shared_ptr<Store> store) -> std::shared_ptr<Store> {
    auto hooked = std::make_shared<HookedStore>(store, [](const HookedStore::Operation&) { return Status{}; });
    hooked->on_read = [&fails](const std::string& path) -> Status {
      if (!fails || path.empty()) return {};
      return fail(Code::io, path + ": a read failed");
    };
    return hooked;
  };
  job.run_and_die([&](JobSession& session) {
    Steps steps(session);
    EXPECT_EQ(steps.restore(), 2U);
    fails = true;
    EXPECT_THAT(thrown_by([&] { session.restore(); }), Fails(Code::unreadable, {"manifest.json"}));
  });
  job.wrap_node = {};
  job.run_well_and_die([](JobSession& session) { EXPECT_EQ(Steps(session).restore(), 2U); });
}

TEST(Damaged, a_manifest_goes_once_a_newer_snapshot_is_complete_at_all_its_levels) {
  Job job({2, 2}, kLocal + kContinue);
  take_steps(job, 2);
  change_files(job.node_store(1), "v00000002", damaged);
  job.configure(kGlobal + kContinue);
  bool full = true;
  job.wrap_global = [&](std::shared_ptr<Store> store) {
    return std::make_shared<HookedStore>(std::move(store), [&](const HookedStore::Operation& operation) -> Status {
      if (full && operation.path.find("partial") != std::string::npos) return fail(Code::no_space, "full");
      return {};
    });
  };
  job.run_and_die([&](JobSession& session) {
    Steps steps(session);
    EXPECT_EQ(steps.restore(), 1U);
    // All that follows from the first is done when the second has failed, too.
    for (int turn = 0; turn < 2; ++turn) thrown_by([&] { steps.advance(); }, [&] { steps.wait_for_all(); });
  });
  EXPECT_TRUE(has_version(job.node_store(1), 3));
  EXPECT_TRUE(has_version(job.node_store(1), 2));
  full = false;
  // To its end, so that nothing is left to do.
  job.run([](JobSession& session) {
    Steps steps(session);
    steps.restore();
    steps.advance();
  });
  EXPECT_TRUE(has_version(job.node_store(1), 5));
  EXPECT_FALSE(has_version(job.node_store(1), 2));
}

}  // namespace
}  // namespace cairn::test
