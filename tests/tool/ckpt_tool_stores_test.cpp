// Which stores the program reads, and what it shows of a snapshot in them.
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "run_tool.hpp"
#include "sample_job.hpp"
#include "support/facts.hpp"

namespace cairn::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

TEST(CkptToolStores, names_the_jobs_when_there_are_several) {
  const SampleJob job;
  job.add_snapshot(1, {LevelId::local});
  job.add_snapshot(1, {LevelId::local}, "wave");
  const Outcome outcome = run_on(job, "list");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, Names({"heat", "wave", "--job"}));
  EXPECT_EQ(run_on(job, "list --job wave").code, 0);
}

TEST(CkptToolStores, takes_places_and_job_from_the_configuration) {
  const SampleJob job;
  job.add_snapshot(7, {LevelId::local});
  const std::string ini = job.root() + "/heat.ini";
  std::ofstream(ini) << "[job]\nname = heat\n[storage]\nlocal = " << job.local() << "\nglobal = " << job.global()
                     << "\n";
  const Outcome outcome = run_tool("verify --json --config " + ini);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(json::parse(outcome.out)["summary"]["newest_recoverable"], 7);
  const Outcome missing = run_tool("list --config " + job.root() + "/none.ini");
  EXPECT_EQ(missing.code, 2);
  EXPECT_THAT(missing.err, Names({job.root() + "/none.ini"}));
}

TEST(CkptToolStores, names_a_directory_that_does_not_exist_and_who_named_it) {
  const SampleJob job;
  const std::string ini = job.root() + "/heat.ini";
  std::ofstream(ini) << "[storage]\nlocal = " << job.local() << "\nglobal = " << job.global() << "\n";
  for (const std::string command : {"list", "inspect", "verify", "hang", "list --json"}) {
    const Outcome mistyped = run_tool(command + " --job heat --local " + job.root() + "/nowhere");
    EXPECT_EQ(mistyped.code, 2) << command;
    EXPECT_THAT(mistyped.err, Names({job.root() + "/nowhere", "--local"}));
    EXPECT_EQ(mistyped.out, "") << command;
    const Outcome configured = run_tool(command + " --config " + ini);
    EXPECT_EQ(configured.code, 2) << command;
    EXPECT_THAT(configured.err, Names({job.local(), job.global(), "[storage] local", "[storage] global", ini}));
    EXPECT_EQ(lines_in(mistyped.err + configured.err), 2U) << mistyped.err << configured.err;
  }
  EXPECT_THAT(run_tool("list --global nowhere").err, Names({fs::current_path().string() + "/nowhere", "--global"}));
  EXPECT_THAT(run_tool("list --local " + ini).err, Names({ini, "--local"}));
}

TEST(CkptToolStores, says_that_a_directory_which_is_empty_has_no_snapshots) {
  const SampleJob job;
  const std::string empty = job.root() + "/empty";
  fs::create_directories(empty);
  for (const std::string command : {"list", "inspect", "verify"}) {
    const Outcome of_one = run_tool(command + " --job heat --local " + empty);
    EXPECT_EQ(of_one.code, 2);
    EXPECT_THAT(of_one.err, Names({"job heat", empty}));
    EXPECT_EQ(lines_in(of_one.err), 1U) << of_one.err;
    EXPECT_THAT(run_tool(command + " --local " + empty).err, Names({empty}));
  }
  job.add_snapshot(1, {LevelId::local});
  EXPECT_THAT(run_on(job, "list --job haet").err, Names({"--job", "haet", "heat"}));
}

TEST(CkptToolStores, goes_on_without_directories_that_do_not_exist_and_names_them) {
  const SampleJob job;
  job.add_snapshot(42, kUpToErasure);
  const std::string there = " --local " + job.local() + "/node0000 --local " + job.local() + "/node0003";
  const Outcome some = run_tool("list --json" + there + " --local /nowhere/1 --local /nowhere/2");
  EXPECT_THAT(some.err, Names({"/nowhere/1", "/nowhere/2", "--local"}));
  const Outcome none = run_tool("list --json" + there);
  EXPECT_EQ(some.code, none.code);
  EXPECT_EQ(json::parse(some.out)["snapshots"][0]["levels"], json::parse(none.out)["snapshots"][0]["levels"]);
}

TEST(CkptToolStores, takes_node_stores_that_were_copied_to_several_places) {
  const SampleJob job;
  job.add_snapshot(42, kUpToErasure);
  std::string places;
  for (const std::string node : {"node0003", "node0001", "node0000", "node0002"}) {
    fs::create_directories(job.root() + "/copied/from-" + node);
    fs::rename(job.local() + "/" + node + "/heat", job.root() + "/copied/from-" + node + "/heat");
    places += " --local " + job.root() + "/copied/from-" + node;
  }
  const Outcome outcome = run_tool("verify --json" + places);
  EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
  EXPECT_EQ(json::parse(outcome.out)["snapshots"][0]["sources"], (json{{"L1", json({0, 1, 2, 3, 4, 5, 6, 7})}}));
}

TEST(CkptToolInspect, has_everything_in_json) {
  const SampleJob job;
  job.add_snapshot(42, kEveryLevel);
  const json shown = json::parse(run_on(job, "inspect --json").out);
  EXPECT_EQ(shown["layout"]["nodes"][3]["copies_on"], json::array({0}));
  EXPECT_EQ(shown["layout"]["nodes"][3]["ranks"], json({6, 7}));
  const json& plate = shown["regions"][5]["regions"][0];
  EXPECT_EQ(shown["regions"][5]["ranks"], json::array({5}));
  EXPECT_EQ(plate["shape"], json({3000, 4}));
  EXPECT_EQ(plate["global_shape"], json({24000, 4}));
  EXPECT_EQ(plate["global_offset"], json({15000, 0}));
  EXPECT_EQ(shown["files"].size(), 8U + 8U + 8U + 4U);
}

TEST(CkptToolInspect, finds_regions_in_the_global_store_when_no_node_is_left) {
  const SampleJob job;
  job.add_snapshot(42, kEveryLevel);
  fs::remove_all(job.local());
  const Outcome outcome = run_on(job, "inspect --json");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const json plate = json::parse(outcome.out)["regions"][0]["regions"][0];
  EXPECT_EQ(plate["name"], "plate");
  EXPECT_EQ(plate["shape"], json({3000, 4}));
}

TEST(CkptToolInspect, names_the_versions_there_are_when_asked_for_another) {
  const SampleJob job;
  job.add_snapshot(41, {LevelId::local});
  for (const char* command : {"inspect --version 9", "verify --version 9"}) {
    const Outcome outcome = run_on(job, command);
    EXPECT_EQ(outcome.code, 2);
    EXPECT_THAT(outcome.err, Names({"version 9", "41"}));
  }
}

}  // namespace
}  // namespace cairn::test
