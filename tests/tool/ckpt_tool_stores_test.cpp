// Which stores the program reads, and what it shows of a snapshot in them.
#include <unistd.h>

#include <chrono>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "run_tool.hpp"
#include "sample_job.hpp"
#include "stores.hpp"
#include "support/facts.hpp"

namespace cairn::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

TEST(CkptToolStores, names_the_jobs_when_there_are_several) {
  const SampleJob job;
  job.add_snapshot(1, {LevelId::local});
  job.add_snapshot(1, {LevelId::local}, "wave");
  for (const char* command : {"verify", "inspect", "hang"}) {
    const Outcome outcome = run_on(job, command);
    EXPECT_EQ(outcome.code, 2);
    EXPECT_THAT(outcome.err, Names({"heat", "wave", "--job"}));
  }
  EXPECT_EQ(run_on(job, "list --job wave").code, 0);
}

// By kind, as the names of files say.
std::map<std::string, std::uint64_t> bytes_below(const std::string& root) {
  std::map<std::string, std::uint64_t> bytes{{"shards", 0}, {"copies", 0},   {"parity", 0},
                                             {"hdf5", 0},   {"recycled", 0}, {"other", 0}};
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    if (!entry.is_regular_file()) continue;
    const std::string path = entry.path().string();
    const std::string name = entry.path().filename().string();
    std::string kind = "other";
    if (path.find("/recycle/") != std::string::npos)
      kind = "recycled";
    else if (name.ends_with(".shard"))
      kind = "shards";
    else if (name.ends_with(".copy"))
      kind = "copies";
    else if (name.starts_with("parity."))
      kind = "parity";
    else if (name.ends_with(".h5"))
      kind = "hdf5";
    bytes[kind] += entry.file_size();
  }
  return bytes;
}

TEST(CkptToolStores, says_what_files_of_each_kind_take) {
  const SampleJob job;
  job.add_snapshot(42, kEveryLevel);
  const std::string pool = job.local() + "/node0001/heat/recycle";
  fs::create_directories(pool);
  std::ofstream(pool + "/rank000002.77.free") << std::string(5000, 'x');
  // Names that only look like a snapshot's.
  std::ofstream(job.local() + "/node0001/heat/rank000001.shard") << "1234567";
  const auto nodes = bytes_below(job.local()), global = bytes_below(job.global());
  const Outcome outcome = run_on(job, "list --json");
  const json space = json::parse(outcome.out)["space"];
  for (const char* kind : {"copies", "parity", "recycled"}) {
    EXPECT_GT(nodes.at(kind), 0U) << kind;
    EXPECT_EQ(space["node_stores"][kind], nodes.at(kind)) << kind;
  }
  EXPECT_EQ(space["node_stores"]["shards"], nodes.at("shards") - 7);
  EXPECT_EQ(space["node_stores"]["other"], nodes.at("other") + 7);
  EXPECT_GT(global.at("hdf5"), 0U);
  for (const auto& [kind, bytes] : global) EXPECT_EQ(space["global_store"][kind], bytes) << kind;
  EXPECT_THAT(run_on(job, "list").out,
              testing::AllOf(testing::HasSubstr("\nnode stores take "), testing::HasSubstr(": shards "),
                             testing::HasSubstr(", copies "), testing::HasSubstr(", parity "),
                             testing::HasSubstr(", kept for the next snapshots 4.9 KiB, other files "),
                             testing::ContainsRegex("\nthe global store takes [0-9.]+ [KM]iB: HDF5 files ")));
  EXPECT_EQ(run_on(job, "list --local /nowhere --global " + job.global()).out.find("node stores take"),
            std::string::npos);
}

// The job's row in a list of several.
json row_in(const json& list, const std::string& job) {
  for (const json& row : list["jobs"]) {
    if (row["job"] == job) return row;
  }
  return {};
}

TEST(CkptToolStores, lists_all_jobs_with_their_snapshots_and_what_they_take) {
  const SampleJob job;
  for (const std::uint32_t version : {41U, 42U}) job.add_snapshot(version, {LevelId::local});
  job.add_snapshot(7, {LevelId::local}, "wave");
  fs::remove_all(job.node(0, 42));
  const std::string wave = job.local() + "/node0000/wave";
  fs::remove_all(wave + "/recycle");
  std::uint64_t bytes = 0;
  for (const std::string& root : {job.local(), job.global()}) {
    for (const auto& entry : fs::recursive_directory_iterator(root)) {
      const bool is_of_wave = entry.path().string().find("/wave/") != std::string::npos;
      if (is_of_wave && entry.is_regular_file()) bytes += entry.file_size();
    }
  }
  fs::create_directories(wave + "/recycle");
  std::ofstream(wave + "/recycle/retired") << std::string(5000, 'x');
  const auto then = fs::file_time_type::clock::now() - std::chrono::hours(1000);
  for (const auto& entry : fs::recursive_directory_iterator(job.global() + "/wave")) fs::last_write_time(entry, then);

  const Outcome outcome = run_on(job, "list --json");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const json list = json::parse(outcome.out);
  EXPECT_EQ(list["jobs"].size(), 2U);
  const json row = row_in(list, "wave");
  EXPECT_EQ(row["snapshots"], 1);
  EXPECT_EQ(row["newest"], 7);
  EXPECT_EQ(row["newest_recoverable"], 7);
  EXPECT_EQ(row["bytes"], bytes);
  EXPECT_EQ(row["recycled_bytes"], 5000);
  EXPECT_NEAR(row["last_written"].get<double>(), static_cast<double>(std::time(nullptr)), 60);
  EXPECT_EQ(row_in(list, "heat")["newest"], 42);
  EXPECT_EQ(row_in(list, "heat")["newest_recoverable"], 41);
  EXPECT_THAT(run_on(job, "list").out, Names({"wave", "7", "4.9 KiB"}));

  std::ofstream(job.global() + "/wave/chain.json") << "garbage";
  const Outcome damaged = run_on(job, "list");
  EXPECT_EQ(damaged.code, 1);
  EXPECT_THAT(damaged.err, Names({"wave", job.global() + "/wave/chain.json"}));
}

TEST(CkptToolStores, does_not_say_that_a_job_it_may_not_read_is_missing) {
  const SampleJob job;
  job.add_snapshot(1, {LevelId::local});
  const std::string closed = job.local() + "/node0000/heat";
  fs::permissions(job.root(), fs::perms::all);
  for (const std::string& store : {closed, job.global() + "/heat"}) fs::permissions(store, fs::perms::none);
  const auto open = [&] { return ckpt_tool::open_stores({{}, {job.local() + "/node0000"}, job.global(), {}, {}}); };
  const auto user = ::geteuid();
  ASSERT_EQ(user == 0 ? ::seteuid(65534) : 0, 0);
  const auto refused = open();
  ASSERT_EQ(user == 0 ? ::seteuid(user) : 0, 0);
  for (const std::string& store : {closed, job.global() + "/heat"}) fs::permissions(store, fs::perms::owner_all);
  EXPECT_THAT(refused, Fails(Code::io, {closed, job.global() + "/heat"}));
  EXPECT_TRUE(open());
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

TEST(CkptToolStores, names_directories_of_snapshots_that_have_no_manifest) {
  const SampleJob job;
  for (const std::uint32_t version : {41U, 42U}) job.add_snapshot(version, {LevelId::local});
  for (std::uint32_t node = 0; node < kNodes; ++node) fs::remove(job.node(node, 42) + "/manifest.json");
  const std::string directory = fs::path(job.node(3, 42)).filename();
  const std::string store = fs::path(job.node(3, 42)).parent_path();
  for (const char* command : {"list", "verify", "verify --version 42"}) {
    const Outcome outcome = run_on(job, command);
    EXPECT_THAT(outcome.out + outcome.err, Names({directory, store})) << command;
  }
  for (const char* command : {"list --json", "verify --json"}) {
    const Outcome outcome = run_on(job, command);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    const json ignored = json::parse(outcome.out)["ignored"];
    ASSERT_EQ(ignored.size(), 1U) << command;
    EXPECT_EQ(ignored[0]["directory"], directory);
    EXPECT_EQ(ignored[0]["version"], 42);
    EXPECT_EQ(ignored[0]["stores"].size(), kNodes);
  }
  for (std::uint32_t node = 0; node < kNodes; ++node) fs::remove_all(job.node(node, 41));
  for (const char* command : {"list", "inspect", "verify"}) {
    const Outcome outcome = run_on(job, command);
    EXPECT_EQ(outcome.code, 2);
    EXPECT_THAT(outcome.err, Names({"job heat", directory, store})) << command;
  }
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
