// ckpt-tool delete and prune, as a user would run them on stores as a job left them.
#include <unistd.h>

#include <chrono>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "format/json_file.hpp"
#include "format/manifest.hpp"
#include "format/watch_file.hpp"
#include "locked_stores.hpp"
#include "recover/belonging.hpp"
#include "run_tool.hpp"
#include "sample_job.hpp"
#include "store/names.hpp"
#include "store/posix/posix_store.hpp"
#include "support/facts.hpp"

namespace cairn::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::AllOf;
using testing::ElementsAre;
using testing::IsEmpty;

class Remove : public testing::Test {
 protected:
  Remove() { job.add_three_snapshots(); }

  // All files but locks and what is recycled, with their contents.
  [[nodiscard]] std::map<std::string, std::string> files() const {
    std::map<std::string, std::string> all;
    for (const auto& entry : fs::recursive_directory_iterator(job.root())) {
      const std::string path = entry.path().string();
      if (entry.is_regular_file() && entry.path().filename() != "lock" && path.find("/recycle/") == std::string::npos)
        all[path] = read_whole(path);
    }
    return all;
  }
  [[nodiscard]] std::vector<std::uint32_t> versions() const {
    std::vector<std::uint32_t> all;
    const json list = json::parse(run_on(job, "list --json --job heat").out);
    for (const json& row : list["snapshots"]) all.push_back(row["version"]);
    return all;
  }
  void expect_refused(const std::string& command, const Things& names) const {
    const auto before = files();
    const Outcome outcome = run_on(job, command);
    EXPECT_EQ(outcome.code, 2) << command << outcome.out;
    EXPECT_THAT(outcome.err, Names(names)) << command;
    EXPECT_EQ(lines_in(outcome.err), 1U) << outcome.err;
    EXPECT_EQ(files(), before) << command;
  }
  [[nodiscard]] std::string manifest(std::uint32_t node, std::uint32_t version) const {
    return job.node(node, version) + "/manifest.json";
  }

  SampleJob job;
};

TEST_F(Remove, leaves_pinned_snapshots_alone) {
  EXPECT_EQ(run_on(job, "pin 40").code, 0);
  const Outcome pinned = run_on(job, "pin 41");
  EXPECT_EQ(pinned.code, 0) << pinned.err;
  EXPECT_THAT(pinned.out, Names({"pinned: version 41", "now also at L4"}));
  expect_refused("delete 40 --yes", {"version 40 is pinned", "unpin 40", "--force"});
  EXPECT_EQ(run_on(job, "prune --keep 1 --yes").code, 0);
  EXPECT_THAT(versions(), ElementsAre(42, 41, 40));
  const json list = json::parse(run_on(job, "list --json --job heat").out);
  EXPECT_EQ(list["snapshots"][1]["pinned"], true);
  EXPECT_EQ(list["snapshots"][1]["levels"]["L4"], true);
  EXPECT_EQ(list["snapshots"][0]["pinned"], false);
  EXPECT_EQ(run_on(job, "verify").code, 0);
  EXPECT_EQ(run_on(job, "unpin 41").code, 0);
  EXPECT_EQ(run_on(job, "unpin 41").code, 2);
  EXPECT_EQ(run_on(job, "prune --keep 1 --yes").code, 0);
  EXPECT_THAT(versions(), ElementsAre(42, 40));
  EXPECT_EQ(run_on(job, "delete 40 --force --yes").code, 0);
  EXPECT_THAT(versions(), ElementsAre(42));
}

TEST_F(Remove, shows_what_would_go_and_changes_nothing_without_yes) {
  const auto before = files();
  const Outcome deletion = run_on(job, "delete 40 41");
  EXPECT_EQ(deletion.code, 0) << deletion.err;
  EXPECT_THAT(deletion.out, AllOf(Names({"version 40", "5 stores"}), Names({"version 41", "4 stores"})));
  EXPECT_THAT(deletion.out, AllOf(Names({"stay", "42"}), Names({"heat", "2 snapshots", "62 files", "--yes"})));
  const Outcome pruning = run_on(job, "prune --keep 1");
  EXPECT_EQ(pruning.code, 0) << pruning.err;
  EXPECT_EQ(pruning.out, deletion.out);
  EXPECT_EQ(files(), before);
}

TEST_F(Remove, takes_all_of_a_version_and_nothing_else) {
  job.add_snapshot(40, {LevelId::local}, "wave");
  auto expected = files();
  std::erase_if(expected, [](const auto& file) { return file.first.find("/heat/v00000040") != std::string::npos; });
  const Outcome outcome = run_on(job, "delete 40 --job heat --yes");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(Names({"version 40"}), Names({"stay", "42, 41"})));
  EXPECT_EQ(files(), expected);
  EXPECT_THAT(versions(), ElementsAre(42, 41));
}

TEST_F(Remove, by_prune_keeps_the_newest_recoverable_ones) {
  fs::remove(job.shard(3, 42));
  const Outcome outcome = run_on(job, "prune --keep 1 --yes");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  // 42 has lost a shard, but nothing newer takes its place.
  EXPECT_THAT(versions(), ElementsAre(42, 41));
  EXPECT_FALSE(fs::exists(job.global_snapshot(40)));
}

TEST_F(Remove, prints_the_same_as_json) {
  const json shown = json::parse(run_on(job, "prune --keep 2 --json").out);
  EXPECT_EQ(shown["dry_run"], true);
  EXPECT_EQ(shown["removals"].size(), 1U);
  EXPECT_EQ(shown["removals"][0]["version"], 40);
  EXPECT_EQ(shown["removals"][0]["why"], "old");
  EXPECT_EQ(shown["removals"][0]["directories"].size(), 5U);
  EXPECT_EQ(shown["kept"].size(), 2U);
  EXPECT_EQ(shown["takes_last"], false);
  const json done = json::parse(run_on(job, "delete 40 --json --yes").out);
  EXPECT_EQ(done["dry_run"], false);
  EXPECT_EQ(done["removals"][0]["files"], shown["removals"][0]["files"]);
  EXPECT_THAT(versions(), ElementsAre(42, 41));
}

TEST_F(Remove, names_the_versions_that_there_are) {
  expect_refused("delete 43 --yes", {"43", "40", "41", "42"});
  expect_refused("delete 41 43 --yes", {"43", "40", "41", "42"});
  expect_refused("delete --yes", {"VERSION"});
  expect_refused("delete x --yes", {"x"});
  expect_refused("prune --yes", {"--keep"});
  expect_refused("prune --keep 0 --yes", {"--keep"});
}

TEST_F(Remove, takes_the_last_recoverable_snapshot_only_by_force) {
  expect_refused("delete 40 41 42", {"--force"});
  expect_refused("delete 40 41 42 --yes", {"--force"});
  const Outcome outcome = run_on(job, "delete 40 41 42 --yes --force");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, Names({"CAIRN_RESTART_MODE"}));
  EXPECT_TRUE(fs::exists(job.record({1})));
  expect_refused("delete 40 --yes", {"40"});
}

// The nodes that are not here may have the rest of it.
TEST_F(Remove, takes_what_may_be_the_last_recoverable_snapshot_only_by_force) {
  EXPECT_EQ(run_on(job, "delete 40 41 --yes").code, 0);
  job.lose_node(3);
  expect_refused("delete 42 --yes", {"--force"});
  EXPECT_EQ(run_on(job, "delete 42 --yes --force").code, 0);
}

// What is from before a fresh start is not what a restart could take instead.
TEST_F(Remove, counts_only_what_a_restart_uses) {
  job.add_run({{2}, RunId{7}, RunRecord::Parent::fresh, {}, true, false});
  EXPECT_THAT(json::parse(run_on(job, "prune --keep 1 --json").out)["removals"], IsEmpty());
  expect_refused("delete 40 41 42", {"--force"});
  EXPECT_EQ(run_on(job, "delete 40").code, 0);
}

TEST_F(Remove, is_refused_while_the_job_runs) {
  auto store = PosixStore::open(job.local() + "/node0002", "heat");
  ASSERT_TRUE(store);
  auto lock = (*store)->lock();
  ASSERT_TRUE(lock);
  const std::string process = std::to_string(::getpid());
  expect_refused("delete 40 --yes", {"heat", "node0002", process});
  expect_refused("prune --keep 1 --yes", {"heat", "node0002", process});
  EXPECT_EQ(run_on(job, "delete 40").code, 0);
  lock->reset();
  EXPECT_EQ(run_on(job, "delete 40 --yes").code, 0);
}

TEST_F(Remove, holds_the_locks_while_it_removes) {
  const auto opened = ckpt_tool::open_stores({{}, {job.local()}, job.global(), {}, {}});
  ASSERT_TRUE(opened);
  PosixOptions options;
  options.lock_patience = std::chrono::milliseconds(0);
  auto store = PosixStore::open(job.local() + "/node0002", "heat", options);
  ASSERT_TRUE(store);
  auto locked = ckpt_tool::lock_stores(*opened);
  ASSERT_TRUE(locked) << locked.error().text();
  EXPECT_EQ(locked->stores.size(), kNodes + 1U);
  EXPECT_THAT((*store)->lock(), Fails(Code::taken_over, {"node0002"}));
  locked->locks.clear();
  EXPECT_TRUE((*store)->lock());
}

TEST_F(Remove, is_refused_while_heads_on_other_hosts_look_after_the_job) {
  const auto write_watch = [&](std::uint64_t ago) {
    const auto now = static_cast<std::uint64_t>(std::time(nullptr));
    std::ofstream(job.global() + "/heat/watch.json") << to_json(WatchFile{{1}, 8, 4, 4, true, now - ago});
  };
  write_watch(0);
  EXPECT_EQ(run_on(job, "delete 42 --yes").code, 0) << "all node stores are here, and none is locked";
  job.lose_node(3);
  expect_refused("delete 40 --yes", {"heat", "4 of 4 heads"});
  write_watch(3600);
  const Outcome outcome = run_on(job, "delete 40 --yes");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, testing::HasSubstr("note: not all node stores are here"));
}

TEST_F(Remove, never_touches_what_it_cannot_judge) {
  rewrite_json(manifest(1, 40), "\"format\": 6", fmt::format("\"format\": {}", kNewestFormat + 1));
  expect_refused("delete 40 --yes", {"40", manifest(1, 40)});
  const auto before = files();
  const Outcome outcome = run_on(job, "prune --keep 1 --yes");
  EXPECT_EQ(outcome.code, 1) << outcome.err;
  EXPECT_THAT(outcome.out, Names({manifest(1, 40)}));
  EXPECT_THAT(versions(), ElementsAre(42, 40));
  for (const auto& [file, bytes] : before)
    EXPECT_TRUE(file.find("v00000041") != std::string::npos || fs::exists(file)) << file;
}

TEST_F(Remove, never_touches_what_another_key_has_sealed) {
  const std::string key = job.root() + "/key";
  std::ofstream(key) << std::string(64, '7') << "\n";
  fs::permissions(key, fs::perms::owner_read);
  expect_refused("delete 40 --yes --key-file " + key, {"40"});
  expect_refused("prune --keep 1 --yes --key-file " + key, {job.record({1})});
}

TEST_F(Remove, by_prune_takes_damaged_manifests_only_if_something_newer_is_safe) {
  for (const std::uint32_t version : {40U, 42U})
    for (std::uint32_t node = 0; node < kNodes; ++node) flip_middle_byte(manifest(node, version));
  flip_middle_byte(job.global_snapshot(40) + "/manifest.json");
  // 41 is whole, but not at L4: the damaged file of 40 there stays with the rest of it.
  EXPECT_THAT(json::parse(run_on(job, "prune --keep 1 --json").out)["removals"], IsEmpty());
  fs::remove_all(job.global_snapshot(40));
  const json shown = json::parse(run_on(job, "prune --keep 1 --json --yes").out);
  ASSERT_EQ(shown["removals"].size(), 1U);
  EXPECT_EQ(shown["removals"][0]["version"], 40);
  EXPECT_EQ(shown["removals"][0]["why"], "damaged");
  EXPECT_TRUE(fs::exists(manifest(0, 42)));
  // But whoever names the version wants it gone.
  EXPECT_EQ(run_on(job, "delete 42 --yes").code, 0);
  EXPECT_FALSE(fs::exists(job.node(0, 42)));
}

TEST_F(Remove, by_prune_takes_what_was_never_finished) {
  for (std::uint32_t node = 0; node < kNodes; ++node) fs::remove(manifest(node, 42));
  const std::string partial = job.global() + "/heat/" + names::partial_snapshot({42}, kRun).path;
  fs::create_directories(partial);
  std::ofstream(partial + "/node0000.h5") << "begun";
  EXPECT_EQ(run_on(job, "prune --keep 5 --yes").code, 0);
  EXPECT_FALSE(fs::exists(job.node(0, 42)));
  EXPECT_FALSE(fs::exists(partial));
  EXPECT_THAT(versions(), ElementsAre(41, 40));
}

// Somebody may be writing it.
TEST_F(Remove, by_prune_leaves_what_is_being_written_by_nodes_whose_stores_are_not_here) {
  job.lose_node(1);
  const std::string partial = job.global() + "/heat/" + names::partial_snapshot({43}, kRun).path;
  fs::create_directories(partial);
  EXPECT_EQ(run_on(job, "prune --keep 5 --yes").code, 0);
  EXPECT_TRUE(fs::exists(partial));
}

TEST_F(Remove, refuses_stores_of_different_jobs) {
  auto node = PosixStore::open(job.local() + "/node0000", "heat");
  auto global = PosixStore::open(job.global(), "heat");
  ASSERT_TRUE(node && global);
  ASSERT_TRUE(write_chain_mark(**node, {RunId{1}, "/elsewhere"}, {}));
  ASSERT_TRUE(write_chain_mark(**global, {RunId{2}, job.global()}, {}));
  expect_refused("delete 40 --yes", {job.local() + "/node0000/heat", job.global() + "/heat"});
  expect_refused("prune --keep 1", {job.local() + "/node0000/heat", job.global() + "/heat"});
}

// The files of a snapshot in the global store do not count without their manifest.
TEST_F(Remove, by_prune_takes_what_has_lost_its_manifest_in_the_global_store) {
  fs::remove(job.global_snapshot(40) + "/manifest.json");
  for (std::uint32_t node = 0; node < kNodes; ++node) fs::remove_all(job.node(node, 40));
  EXPECT_EQ(run_on(job, "prune --keep 5 --yes").code, 0);
  EXPECT_FALSE(fs::exists(job.global_snapshot(40)));
}

TEST_F(Remove, tells_at_which_levels_no_snapshot_stays) {
  const Outcome outcome = run_on(job, "prune --keep 1");
  EXPECT_THAT(outcome.out, Names({"note", "L2", "L3", "L4"}));
  EXPECT_THAT(json::parse(run_on(job, "prune --keep 2 --json").out)["levels_lost"], ElementsAre("L4"));
  EXPECT_THAT(run_on(job, "delete 42").out, Not(testing::HasSubstr("note")));
}

TEST_F(Remove, leaves_a_directory_alone_that_is_no_store) {
  const std::string foreign = job.root() + "/foreign";
  fs::create_directories(foreign + "/photos");
  std::ofstream(foreign + "/photos/manifest.json") << "mine";
  for (const std::string command : {"delete 1 --yes", "prune --keep 1 --yes"}) {
    (void)run_tool(command + " --job photos --local " + foreign + " --global " + foreign);
    EXPECT_EQ(std::distance(fs::directory_iterator(foreign + "/photos"), fs::directory_iterator()), 1) << command;
  }
}

TEST_F(Remove, says_that_there_is_nothing) {
  const std::string empty = job.root() + "/empty";
  fs::create_directories(empty);
  for (const std::string command : {"delete 1", "prune --keep 1"}) {
    const Outcome outcome = run_tool(command + " --job heat --local " + empty);
    EXPECT_EQ(outcome.code, 2);
    EXPECT_THAT(outcome.err, Names({"job heat", empty}));
  }
  EXPECT_THAT(run_on(job, "delete 40 --job haet").err, Names({"haet", "heat"}));
}

}  // namespace
}  // namespace cairn::test
