// ckpt-tool rebuild, as a user would run it on stores as a job left them.
#include <filesystem>
#include <map>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "run_tool.hpp"
#include "sample_job.hpp"
#include "store/posix/posix_store.hpp"
#include "support/facts.hpp"

namespace cairn::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

class RebuildCommand : public testing::Test {
 protected:
  RebuildCommand() {
    job.add_three_snapshots();
    before = files();
  }

  // All files of snapshots and marks, with their contents.
  [[nodiscard]] std::map<std::string, std::string> files() const {
    std::map<std::string, std::string> all;
    for (const auto& entry : fs::recursive_directory_iterator(job.root())) {
      if (entry.is_regular_file() && entry.path().filename() != "lock")
        all[entry.path().string()] = read_whole(entry.path().string());
    }
    return all;
  }
  [[nodiscard]] Outcome rebuild(const std::string& more) const { return run_on(job, "rebuild " + more); }
  void damage() const {
    flip_middle_byte(job.shard(0, 40));
    flip_middle_byte(job.copy(3, 40));
    fs::remove(job.parity(2, 1, 41));
    fs::remove(job.shard(7, 41));
  }
  void make_store(std::uint32_t node) const { fs::create_directories(fs::path(job.node(node, 40)).parent_path()); }
  void expect_refused(const Outcome& outcome, const Things& names) const {
    EXPECT_EQ(outcome.code, 2) << outcome.out;
    EXPECT_THAT(outcome.err, Names(names));
    EXPECT_EQ(lines_in(outcome.err), 1U) << outcome.err;
  }

  SampleJob job;
  std::map<std::string, std::string> before;
};

TEST_F(RebuildCommand, writes_nothing_without_yes) {
  damage();
  const auto damaged = files();
  const Outcome outcome = rebuild("");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  for (const char* part : {"version 40", "version 41", "node 0", "1 file of L1", "1 file of L2", "1 file of L3",
                           "job heat: 4 files", "without --yes"})
    EXPECT_THAT(outcome.out, HasSubstr(part));
  EXPECT_EQ(files(), damaged);
  EXPECT_EQ(rebuild("--yes").code, 0);
  EXPECT_EQ(files(), before);
  EXPECT_THAT(rebuild("").out, Names({"nothing to rebuild"}));
}

TEST_F(RebuildCommand, takes_one_version) {
  damage();
  const Outcome outcome = rebuild("41 --yes");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, Not(HasSubstr("version 40")));
  EXPECT_EQ(run_on(job, "verify --quiet --version 41").code, 0);
  EXPECT_EQ(run_on(job, "verify --quiet --version 40").code, 1);
  expect_refused(rebuild("43"), {"43", "40, 41, 42"});
  expect_refused(rebuild("peak"), {"peak", "label"});
}

TEST_F(RebuildCommand, fills_the_store_of_a_lost_node_and_names_what_is_lost) {
  job.lose_node(1);
  const Outcome without = rebuild("41 --yes");
  EXPECT_EQ(without.code, 1);
  EXPECT_THAT(without.out, Names({"node 1", "DIR/heat", "--local"}));
  make_store(1);
  const Outcome outcome = rebuild("--yes");
  EXPECT_EQ(outcome.code, 1) << outcome.err;
  for (const char* part : {"version 42", "not rebuilt: no source for ranks 2, 3", "the manifest"})
    EXPECT_THAT(outcome.out, HasSubstr(part));
  for (const char* version : {"40", "41"})
    EXPECT_EQ(run_on(job, fmt::format("verify --quiet --version {}", version)).code, 0);
  for (auto& [path, text] : files()) {
    EXPECT_EQ(before[path], text) << path;
  }
}

TEST_F(RebuildCommand, prints_json) {
  damage();
  flip_middle_byte(job.global_snapshot(40) + "/node0001.h5");
  const Outcome outcome = rebuild("40 --json");
  EXPECT_EQ(outcome.code, 1) << outcome.err;
  const json shown = json::parse(outcome.out);
  EXPECT_EQ(shown["dry_run"], true);
  const json& snapshot = shown["snapshots"][0];
  EXPECT_EQ(snapshot["version"], 40);
  EXPECT_EQ(snapshot["parts"].size(), 2U);
  EXPECT_EQ(snapshot["parts"][0]["node"], 0);
  EXPECT_EQ(snapshot["parts"][0]["files"].size(), 1U);
  EXPECT_EQ(snapshot["parts"][0]["manifest"], false);
  EXPECT_EQ(snapshot["not_rebuilt"][0]["why"], "in_shared_store");
}

TEST_F(RebuildCommand, is_refused_while_the_job_runs) {
  damage();
  const auto damaged = files();
  auto store = PosixStore::open(job.local() + "/node0002", "heat");
  ASSERT_TRUE(store);
  const auto lock = (*store)->lock();
  ASSERT_TRUE(lock);
  expect_refused(rebuild("--yes"), {"job heat runs"});
  EXPECT_EQ(files(), damaged);
}

TEST_F(RebuildCommand, needs_node_stores_of_one_job) {
  expect_refused(run_tool(fmt::format("rebuild --global {} --job heat", job.global())), {"--local"});
  expect_refused(run_tool(fmt::format("rebuild --local {} --job none", job.local())), {"none"});
}

}  // namespace
}  // namespace cairn::test
