// Runs the program on stores as a job would have left them, and on damaged ones.
#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cairn/version.hpp>

#include "codec/crc32c.hpp"
#include "format/manifest.hpp"
#include "format/parity_file.hpp"
#include "run_tool.hpp"
#include "sample_job.hpp"
#include "store/names.hpp"
#include "support/facts.hpp"
#include "support/key_file.hpp"
#include "support/sample_manifest.hpp"

namespace cairn::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// A file or a node that is not good, as --json shows it, with the things that its description names.
struct Flaw {
  std::string state;
  std::string where;
  json ranks = json::array();
  json level = nullptr;
  Things names = {};
};
Flaw damaged(std::string where, json ranks, json level, Things names = {}) {
  return {"damaged", std::move(where), std::move(ranks), std::move(level), std::move(names)};
}
Flaw missing(std::string where, json ranks, json level) {
  return {"missing", std::move(where), std::move(ranks), std::move(level)};
}
Flaw missing_node(std::uint32_t node, json ranks) {
  return missing("node " + std::to_string(node), std::move(ranks), "L1");
}

std::vector<json> all_in(const json& report) {
  std::vector<json> all(report["others"].begin(), report["others"].end());
  for (const json& snapshot : report["snapshots"])
    all.insert(all.end(), snapshot["files"].begin(), snapshot["files"].end());
  return all;
}

// Verifies, and expects `flaws` among what is found. Returns the report.
json expect_damage(const SampleJob& job, const std::vector<Flaw>& flaws) {
  const Outcome outcome = run_on(job, "verify --json");
  EXPECT_EQ(outcome.code, 1) << outcome.err;
  json report = json::parse(outcome.out);
  const std::vector<json> all = all_in(report);
  for (const Flaw& flaw : flaws) {
    const bool found = std::ranges::any_of(all, [&](const json& file) {
      return file["state"] == flaw.state && file["where"] == flaw.where && file["level"] == flaw.level &&
             file["ranks"] == flaw.ranks && std::ranges::all_of(flaw.names, [&](const std::string& thing) {
               return has_thing(file["what"].get<std::string>(), thing);
             });
    });
    EXPECT_TRUE(found) << flaw.state << " " << flaw.where << "\n" << outcome.out;
  }
  return report;
}

// The ranks that a restart takes from each level, of the newest snapshot.
json sources_in(const json& report) { return report["snapshots"][0]["sources"]; }
const json kAllFromL1{{"L1", json({0, 1, 2, 3, 4, 5, 6, 7})}};

// Everything below a directory: length and time of the last write.
std::map<std::string, std::pair<std::uintmax_t, fs::file_time_type>> state_of(const std::string& root) {
  std::map<std::string, std::pair<std::uintmax_t, fs::file_time_type>> state;
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    state[entry.path().string()] = {entry.is_regular_file() ? entry.file_size() : 0, entry.last_write_time()};
  }
  return state;
}

TEST(CkptToolList, shows_each_snapshot_with_the_levels_that_all_nodes_reached) {
  const SampleJob job;
  job.add_snapshot(41, {LevelId::local});
  job.add_snapshot(42, kEveryLevel);
  job.add_run({{1}, kRun, RunRecord::Parent::fresh, {}, true, false});
  const Outcome outcome = run_on(job, "list --json");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const json list = json::parse(outcome.out);
  ASSERT_EQ(list["snapshots"].size(), 2U);
  const json& newest = list["snapshots"][0];
  EXPECT_EQ(newest["version"], 42);
  EXPECT_EQ(newest["incarnation"], 1);
  EXPECT_EQ(newest["run"], "0123456789abcdef");
  EXPECT_EQ(newest["levels"], (json{{"L1", true}, {"L2", true}, {"L3", true}, {"L4", true}}));
  EXPECT_EQ(newest["nodes"], 4);
  EXPECT_EQ(newest["ranks"], 8);
  EXPECT_EQ(newest["bytes"], 8 * fs::file_size(job.shard(0, 42)));
  EXPECT_GE(newest["age_seconds"], 0);
  EXPECT_EQ(newest["recoverable"], true);
  EXPECT_EQ(list["snapshots"][1]["levels"], (json{{"L1", true}, {"L2", false}, {"L3", false}, {"L4", false}}));
  EXPECT_EQ(list["runs"][0]["parent"], "fresh");
}

TEST(CkptToolList, shows_labels_and_attributes_as_inspect_does) {
  SampleJob job;
  job.add_snapshot(41, {LevelId::local});
  job.note({"peak",
            {{{}, "residual", std::numeric_limits<double>::infinity()}, {{}, "time", 0.5}, {"plate", "units", "K"}}});
  job.add_snapshot(42, kEveryLevel);
  for (const std::string command : {"list", "inspect"}) {
    const Outcome text = run_on(job, command);
    EXPECT_NE(text.out.find("\"peak\""), std::string::npos) << text.out;
    const json out = json::parse(run_on(job, command + " --json").out);
    const json& newest = command == "list" ? out["snapshots"][0] : out;
    EXPECT_EQ(newest["label"], "peak");
    EXPECT_EQ(newest["attributes"], (json{{"residual", "inf"}, {"time", 0.5}}));
    EXPECT_EQ(newest["region_attributes"], (json{{"plate", {{"units", "K"}}}}));
    const bool lists = command == "list";
    EXPECT_EQ((lists ? out["snapshots"][1] : json{{"label", json()}})["label"], json());
    EXPECT_NE(text.out.find(lists ? "\"peak\"" : "plate: units = K"), std::string::npos) << text.out;
  }
}

TEST(CkptToolList, calls_no_level_reached_that_a_lost_node_or_file_has_broken) {
  const SampleJob job;
  job.add_snapshot(42, kUpToErasure);
  fs::remove(job.copy(3, 42));
  json levels = json::parse(run_on(job, "list --json").out)["snapshots"][0]["levels"];
  EXPECT_EQ(levels, (json{{"L1", true}, {"L2", false}, {"L3", true}, {"L4", false}}));

  job.lose_node(1);
  const json list = json::parse(run_on(job, "list --json").out);
  EXPECT_EQ(list["snapshots"][0]["levels"], (json{{"L1", false}, {"L2", false}, {"L3", false}, {"L4", false}}));
  EXPECT_EQ(list["snapshots"][0]["nodes_at"]["L1"], 3);
  EXPECT_EQ(list["snapshots"][0]["recoverable"], true);
}

TEST(CkptToolList, says_in_one_line_that_nothing_is_there) {
  const SampleJob job;
  fs::create_directories(job.local() + "/node0000/heat");
  fs::create_directories(job.global());
  for (const char* command : {"list --job heat", "verify --job heat", "inspect --job heat"}) {
    const Outcome outcome = run_on(job, command);
    EXPECT_EQ(outcome.code, 2);
    EXPECT_THAT(outcome.err, Names({"job heat", job.local()}));
    EXPECT_EQ(lines_in(outcome.err), 1U) << outcome.err;
  }
}

TEST(CkptToolList, ignores_what_a_running_job_has_not_finished) {
  const SampleJob job;
  job.add_snapshot(41, {LevelId::local});
  fs::create_directories(job.node(0, 42));
  fs::copy_file(job.shard(0, 41), job.shard(0, 42));
  fs::create_directories(job.global_snapshot(42) + ".partial");
  const Outcome outcome = run_on(job, "list --json");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const json list = json::parse(outcome.out);
  ASSERT_EQ(list["snapshots"].size(), 1U);
  EXPECT_EQ(list["snapshots"][0]["version"], 41);
}

TEST(CkptToolArguments, are_answered_with_one_line_and_exit_code_2) {
  for (const char* wrong : {"", "list", "verify --frobnicate", "inspect --version nine --local /tmp",
                            "list --local /nowhere", "list --job ../heat --local /tmp"}) {
    const Outcome outcome = run_tool(wrong);
    EXPECT_EQ(outcome.code, 2) << wrong;
    EXPECT_EQ(lines_in(outcome.err), 1U) << wrong << ": " << outcome.err;
  }
  EXPECT_EQ(run_tool("--help").code, 0);
  EXPECT_THAT(run_tool("verify --help").out, Names({"--quiet"}));
  EXPECT_THAT(run_tool("--version").out, Names({"ckpt-tool", CAIRN_VERSION_TEXT}));
}

// The names of members, at any depth; levels are no names.
void collect_names(const json& value, std::set<std::string>& names) {
  for (const auto& [name, member] : value.items()) {
    const bool is_level = name.size() == 2 && name[0] == 'L';
    if (value.is_object() && !is_level) names.insert(name);
    if (member.is_structured()) collect_names(member, names);
  }
}

// The part of the man page that describes a command.
std::string page_of(const std::string& command) {
  const std::string page = read_whole(CAIRN_CKPT_TOOL_PAGE);
  const std::size_t from = page.find("\n.SS " + command + "\n");
  return from == std::string::npos ? "" : page.substr(from, page.find("\n.SS ", from + 1) - from);
}

TEST(CkptToolJson, has_no_member_that_the_man_page_does_not_name) {
  const SampleJob job;
  for (const std::uint32_t version : {41U, 42U}) job.add_snapshot(version, kEveryLevel);
  job.add_run({{1}, kRun, RunRecord::Parent::snapshot, sample_job_identity(41), true, false});
  for (const std::uint32_t node : {0U, 1U, 2U}) job.lose_node(node);
  fs::remove_all(job.global_snapshot(42));
  fs::create_directories(job.node(3, 43));
  const SampleJob of_two;
  for (const char* name : {"heat", "wave"}) of_two.add_snapshot(1, {LevelId::local}, name);
  for (const std::string command : {"list", "inspect", "verify"}) {
    std::set<std::string> names;
    collect_names(json::parse(run_on(job, command + " --json").out), names);
    if (command == "list") collect_names(json::parse(run_on(of_two, "list --json").out), names);
    EXPECT_GT(names.size(), 10U);
    const std::string page = page_of(command) + page_of("list");
    for (const std::string& name : names) EXPECT_THAT(page, Names({name})) << command;
  }
}

TEST(CkptTool, changes_nothing_that_it_looks_at) {
  const SampleJob job;
  job.add_snapshot(42, kEveryLevel);
  for (std::uint32_t node = 0; node < kNodes; ++node) fs::remove_all(job.node(node, 42) + "/../recycle");
  const auto before = state_of(job.root());
  for (const char* command : {"list", "list --json", "inspect", "verify", "verify --json"})
    EXPECT_EQ(run_on(job, command).code, 0);
  EXPECT_EQ(state_of(job.root()), before);
}

class CkptToolVerify : public testing::TestWithParam<const char*> {
 protected:
  CkptToolVerify() : job(GetParam()) { job.add_snapshot(42, kEveryLevel); }
  SampleJob job;
};
INSTANTIATE_TEST_SUITE_P(Stores, CkptToolVerify, testing::Values("/tmp", "/dev/shm"), [](const auto& parameter) {
  return std::string(parameter.param) == "/tmp" ? "disk" : "tmpfs";
});

TEST_P(CkptToolVerify, says_that_all_is_good_when_it_is) {
  const Outcome outcome = run_on(job, "verify");
  EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
  EXPECT_EQ(outcome.err, "");
  const json report = json::parse(run_on(job, "verify --json").out);
  for (const json& file : all_in(report)) EXPECT_EQ(file["state"], "good") << file;
  EXPECT_EQ(report["summary"]["good"], all_in(report).size());
  EXPECT_EQ(report["summary"]["newest_recoverable"], 42);
  EXPECT_EQ(report["snapshots"][0]["notes"], json::array());
  EXPECT_EQ(sources_in(report), kAllFromL1);
  const Outcome quiet = run_on(job, "verify --quiet");
  EXPECT_EQ(lines_in(quiet.out), 1U) << quiet.out;
}

TEST_P(CkptToolVerify, reads_snapshots_that_keep_nothing_on_a_sick_node) {
  job.avoid({NodeId{1}});
  job.add_snapshot(43, kEveryLevel);
  const json report = json::parse(run_on(job, "verify --json").out);
  for (const json& file : all_in(report)) EXPECT_EQ(file["state"], "good") << file;
  EXPECT_EQ(report["summary"]["newest_recoverable"], 43);
  for (const json& snapshot : report["snapshots"]) EXPECT_EQ(snapshot["notes"], json::array());
  EXPECT_EQ(json::parse(run_on(job, "inspect --json --version 43").out)["layout"]["avoided"], json({1}));
  job.lose_node(1);
  EXPECT_EQ(json::parse(run_on(job, "verify --json").out)["summary"]["newest_recoverable"], 43);
}

TEST_P(CkptToolVerify, names_a_shard_with_a_flipped_byte_and_where_the_rank_comes_from_instead) {
  flip_middle_byte(job.shard(3, 42));
  const json report = expect_damage(job, {damaged(job.shard(3, 42), {3}, "L1", {"block 0", "CRC-32C"})});
  EXPECT_EQ(report["summary"]["damaged"], 1);
  EXPECT_EQ(sources_in(report)["L2"], json::array({3}));
}

TEST_P(CkptToolVerify, names_a_shard_with_a_damaged_header) {
  flip_byte(job.shard(3, 42), 40);
  expect_damage(job, {damaged(job.shard(3, 42), {3}, "L1", {"header"})});
}

TEST_P(CkptToolVerify, names_a_shard_whose_padding_was_changed) {
  flip_byte(job.shard(3, 42), 4090 + 4096 - 1);
  expect_damage(job, {damaged(job.shard(3, 42), {3}, "L1")});
}

TEST_P(CkptToolVerify, names_a_shard_that_was_cut_or_is_gone) {
  cut(job.shard(3, 42), 8192);
  fs::remove(job.shard(4, 42));
  const json report =
      expect_damage(job, {damaged(job.shard(3, 42), {3}, "L1", {"8192"}), missing(job.shard(4, 42), {4}, "L1")});
  EXPECT_EQ(sources_in(report)["L2"], json({3, 4}));
}

TEST_P(CkptToolVerify, names_a_shard_that_is_another_ranks) {
  fs::copy_file(job.shard(2, 42), job.shard(3, 42), fs::copy_options::overwrite_existing);
  expect_damage(job, {damaged(job.shard(3, 42), {3}, "L1", {"rank 2", "rank 3"})});
}

TEST_P(CkptToolVerify, names_a_shard_that_is_of_another_snapshot) {
  job.add_snapshot(43, {LevelId::local});
  fs::copy_file(job.shard(3, 42), job.shard(3, 43), fs::copy_options::overwrite_existing);
  expect_damage(job, {damaged(job.shard(3, 43), {3}, "L1")});
}

TEST_P(CkptToolVerify, names_a_damaged_copy_though_nothing_needs_it) {
  flip_middle_byte(job.copy(3, 42));
  EXPECT_EQ(sources_in(expect_damage(job, {damaged(job.copy(3, 42), {3}, "L2", {"block 0"})})), kAllFromL1);
}

TEST_P(CkptToolVerify, names_a_damaged_parity_file) {
  flip_middle_byte(job.parity(2, 1, 42));
  flip_byte(job.parity(1, 0, 42), 30);
  fs::remove(job.parity(0, 0, 42));
  const json none = json::array();
  expect_damage(job,
                {damaged(job.parity(2, 1, 42), none, "L3", {"block 0", "CRC-32C"}),
                 damaged(job.parity(1, 0, 42), none, "L3", {"header"}), missing(job.parity(0, 0, 42), none, "L3")});
}

TEST_P(CkptToolVerify, finds_parity_that_was_wrong_from_the_start) {
  const std::string file = job.parity(2, 1, 42);
  std::string text = read_whole(file);
  const std::size_t crc_at = text.size() - 4;
  const auto digest = [&] { return frame_digest(bytes_of(text).first(4096), bytes_of(text).subspan(crc_at)).hex(); };
  const std::string before = digest();
  text[4096 + 100] = static_cast<char>(text[4096 + 100] ^ 1);
  const std::uint32_t crc = crc32c(bytes_of(text).subspan(4096, crc_at - 4096));
  std::memcpy(text.data() + crc_at, &crc, sizeof(crc));
  std::ofstream(file, std::ios::binary) << text;
  rewrite_json(job.node(2, 42) + "/manifest.json", before, digest());
  const json report = expect_damage(job, {damaged(file, json::array(), "L3", {"byte 4196"})});
  EXPECT_EQ(report["summary"]["damaged"], 1);
}

TEST_P(CkptToolVerify, names_a_node_manifest_that_cannot_be_read_and_the_ranks_it_spoke_of) {
  flip_byte(job.node(3, 42) + "/manifest.json", 0);
  const std::string manifest = job.node(3, 42) + "/manifest.json";
  const json report = expect_damage(job, {damaged(manifest, json::array(), nullptr), missing_node(3, {6, 7})});
  EXPECT_EQ(sources_in(report)["L2"], json({6, 7}));
  const Outcome list = run_on(job, "list");
  EXPECT_EQ(list.code, 1);
  EXPECT_THAT(list.err, Names({manifest}));
}

// `where`, or files in it, and nothing that is damaged, missing or forged.
void expect_only_unreadable(const json& report, const std::string& where) {
  bool found = false;
  for (const json& file : all_in(report)) {
    if (file["state"] == "good") continue;
    EXPECT_EQ(file["state"], "unreadable") << file;
    found = found || file["where"].get<std::string>().starts_with(where);
  }
  EXPECT_TRUE(found) << report;
  EXPECT_EQ(report["summary"]["newest_recoverable"], 42);
}

TEST_P(CkptToolVerify, does_not_call_damaged_or_missing_what_it_fails_to_read) {
  const std::string manifest = job.node(1, 42) + "/manifest.json";
  fs::rename(manifest, manifest + ".moved");
  fs::create_symlink(manifest + ".moved", manifest);
  const Outcome outcome = run_on(job, "verify --json");
  EXPECT_EQ(outcome.code, 2);
  expect_only_unreadable(json::parse(outcome.out), manifest);
}

// Makes the job's files those of a job with a key, of one chain.
void seal_with_key(const SampleJob& job, const KeyFile& key) {
  const Sealer of_marks = make_sealer(key.path(), "heat").value();
  const ChainMark mark{{7}, job.global() + "/heat"};
  const Sealer sealer = of_marks.of_chain(mark.id);
  std::set<fs::path> stores;
  for (const auto& entry : fs::recursive_directory_iterator(job.root())) {
    if (entry.path().filename() == "heat") stores.insert(entry.path());
    if (entry.path().extension() != ".json") continue;
    change_json(entry.path(), [&](const std::string& text) {
      auto file = nlohmann::ordered_json::parse(text);
      file.erase("sha256");
      file["format"] = file["format"].get<std::uint64_t>() + 1;
      return sealer.seal(file);
    });
  }
  for (const fs::path& store : stores)
    std::ofstream(store / names::chain_mark().path, std::ios::binary) << to_json(mark, of_marks);
}

TEST_P(CkptToolVerify, calls_nothing_damaged_or_forged_beside_a_chain_mark_that_it_fails_to_read) {
  const KeyFile key("tool");
  seal_with_key(job, key);
  const std::string with_key = " --key-file " + key.path();
  EXPECT_EQ(run_on(job, "verify" + with_key).code, 0) << run_on(job, "verify" + with_key).out;
  for (const std::string& store : {job.local() + "/node0001/heat", job.global() + "/heat"}) {
    const std::string mark = store + "/chain.json";
    fs::rename(mark, mark + ".moved");
    fs::create_symlink(mark + ".moved", mark);
    const Outcome outcome = run_on(job, "verify --json" + with_key);
    EXPECT_EQ(outcome.code, 2);
    expect_only_unreadable(json::parse(outcome.out), store);
    fs::rename(mark + ".moved", mark);
  }
}

TEST_P(CkptToolVerify, names_a_manifest_that_contradicts_the_owner_of_a_shard) {
  rewrite_json(job.node(2, 42) + "/manifest.json", "\"rank\": 0,\n", "\"rank\": 0, \"x\": 1,\n");
  const json manifest = json::parse(read_whole(job.node(2, 42) + "/manifest.json"));
  const std::string right = manifest["holdings"][0]["erasure"]["members"][0][1]["sha256"];
  rewrite_json(job.node(2, 42) + "/manifest.json", right, std::string(64, 'a'));
  expect_damage(
      job, {damaged(job.node(2, 42) + "/manifest.json", json::array(), nullptr, {"rank 1", std::string(64, 'a')})});
}

TEST_P(CkptToolVerify, names_a_node_whose_manifest_is_gone) {
  fs::remove(job.node(3, 42) + "/manifest.json");
  expect_damage(job, {missing_node(3, {6, 7})});
}

TEST_P(CkptToolVerify, names_damaged_files_of_the_global_store) {
  const std::string dir = job.global_snapshot(42);
  flip_middle_byte(dir + "/node0001.h5");
  cut(dir + "/node0002.h5", 5000);
  fs::remove(dir + "/node0003.h5");
  flip_byte(dir + "/checkpoint.h5", 0);
  expect_damage(job,
                {damaged(dir + "/node0001.h5", {2}, "L4"), damaged(dir + "/node0002.h5", {4, 5}, "L4", {"5000"}),
                 missing(dir + "/node0003.h5", {6, 7}, "L4"), damaged(dir + "/checkpoint.h5", json::array(), "L4")});
}

TEST_P(CkptToolVerify, names_a_master_file_that_is_gone_or_of_another_snapshot) {
  fs::remove(job.global_snapshot(42) + "/checkpoint.h5");
  const std::string master = job.global_snapshot(42) + "/checkpoint.h5";
  const json none = json::array();
  expect_damage(job, {missing(master, none, "L4")});
  job.add_snapshot(43, kEveryLevel);
  fs::copy_file(job.global_snapshot(43) + "/checkpoint.h5", master);
  expect_damage(job, {damaged(master, none, "L4", {"SHA-256"})});
  change_json(job.global_snapshot(42) + "/manifest.json", as_format_1);
  expect_damage(job, {damaged(master, none, "L4", {"version 43"})});
}

TEST_P(CkptToolVerify, names_a_global_manifest_that_cannot_be_read) {
  flip_byte(job.global_snapshot(42) + "/manifest.json", 0);
  const Flaw manifest = damaged(job.global_snapshot(42) + "/manifest.json", json::array(), nullptr);
  EXPECT_EQ(sources_in(expect_damage(job, {manifest})), kAllFromL1);
}

TEST_P(CkptToolVerify, names_a_global_manifest_that_contradicts_the_shards) {
  const std::string file = job.global_snapshot(42) + "/manifest.json";
  const std::string right = json::parse(read_whole(file))["shards"][5]["sha256"];
  rewrite_json(file, right, std::string(64, 'b'));
  expect_damage(job, {damaged(file, json::array(), nullptr, {"rank 5"}),
                      damaged(job.global_snapshot(42) + "/node0002.h5", {5}, "L4")});
}

TEST_P(CkptToolVerify, says_which_level_is_left_as_nodes_are_lost) {
  job.lose_node(1);
  json sources = sources_in(expect_damage(job, {missing_node(1, {2, 3})}));
  EXPECT_EQ(sources["L2"], json({2, 3}));
  job.lose_node(2);
  sources = sources_in(expect_damage(job, {missing_node(2, {4, 5})}));
  EXPECT_EQ(sources["L2"], json({4, 5}));
  EXPECT_EQ(sources["L3"], json({2, 3}));
  fs::remove_all(job.local());
  const Outcome outcome = run_on(job, "verify --json");
  EXPECT_EQ(outcome.code, 0) << outcome.out;  // what L4 promised is there, whole
  EXPECT_EQ(sources_in(json::parse(outcome.out)), (json{{"L4", json({0, 1, 2, 3, 4, 5, 6, 7})}}));
}

TEST_P(CkptToolVerify, names_the_ranks_that_nothing_gives_back) {
  fs::remove_all(job.global());
  for (const std::uint32_t node : {0, 1, 2}) job.lose_node(node);
  const json report = expect_damage(job, {missing_node(0, {0, 1})});
  const json& snapshot = report["snapshots"][0];
  EXPECT_EQ(snapshot["recoverable"], false);
  for (const std::string rank : {"rank 0", "rank 1", "rank 2", "rank 3"})
    EXPECT_TRUE(has_thing(snapshot["why_not"].get<std::string>(), rank)) << snapshot["why_not"];
  EXPECT_EQ(report["summary"]["newest_recoverable"], nullptr);
}

// As it was with a store that has lost nodes: the newest snapshot is gone, the one before is not.
TEST_P(CkptToolVerify, says_of_one_snapshot_nothing_about_others) {
  job.add_snapshot(43, {LevelId::local});
  job.lose_node(1);
  const json report = expect_damage(job, {missing_node(1, {2, 3})});
  EXPECT_EQ(report["snapshots"][0]["recoverable"], false);
  EXPECT_EQ(report["snapshots"][1]["recoverable"], true);
  const std::string why_not = report["snapshots"][0]["why_not"];
  EXPECT_THAT(why_not, Names({"rank 2", "rank 3", "node 1"}));
  EXPECT_FALSE(has_thing(why_not, "snapshot")) << why_not;
  EXPECT_EQ(report["summary"]["newest_recoverable"], 42);
}

TEST_P(CkptToolVerify, names_damaged_files_that_belong_to_no_snapshot) {
  for (const std::string& file : {job.local() + "/node0002/heat/chain.json", job.global() + "/heat/chain.json",
                                  job.global() + "/heat/costs.json", job.global() + "/heat/health.json"}) {
    std::ofstream(file) << "garbage";
    expect_damage(job, {damaged(file, json::array(), nullptr)});
    EXPECT_THAT(run_on(job, "list").err, Names({file}));
    fs::remove(file);
  }
  EXPECT_EQ(run_on(job, "verify").code, 0);
}

TEST_P(CkptToolVerify, refuses_what_a_newer_version_wrote) {
  rewrite_json(job.node(0, 42) + "/manifest.json", "\"format\": 6", "\"format\": 14");
  for (const char* command : {"verify", "list", "inspect"}) {
    const Outcome outcome = run_on(job, command);
    EXPECT_EQ(outcome.code, 2) << command;
    EXPECT_THAT(outcome.out + outcome.err, Names({"format 14", "13", job.node(0, 42) + "/manifest.json"}));
  }
}

TEST_P(CkptToolVerify, reads_only_the_version_that_was_asked_for) {
  job.add_snapshot(43, {LevelId::local});
  flip_middle_byte(job.shard(3, 42));
  EXPECT_EQ(run_on(job, "verify --version 43").code, 0);
  EXPECT_EQ(run_on(job, "verify --version 42").code, 1);
  EXPECT_EQ(json::parse(run_on(job, "verify --json").out)["summary"]["newest_recoverable"], 43);
}

TEST_P(CkptToolVerify, is_not_misled_by_a_file_that_no_manifest_names) {
  std::ofstream(job.node(0, 42) + "/rank000099.shard") << "being written";
  std::ofstream(job.local() + "/node0000/heat/notes.txt") << "by hand";
  EXPECT_EQ(run_on(job, "verify").code, 0);
}

}  // namespace
}  // namespace cairn::test
