// Runs the program on stores as a job would have left them, and on damaged ones.
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

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
#include "support/key_file.hpp"
#include "support/sample_manifest.hpp"

namespace cairn::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// Verifies, and expects damage that is told by all of `words`.
void expect_damage(const SampleJob& job, const std::vector<std::string>& words) {
  const Outcome outcome = run_on(job, "verify");
  EXPECT_EQ(outcome.code, 1) << outcome.out << outcome.err;
  for (const std::string& word : words) EXPECT_THAT(outcome.out, HasSubstr(word));
}

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
  const Outcome text = run_on(job, "list");
  EXPECT_EQ(text.code, 0) << text.err;
  EXPECT_THAT(text.out, AllOf(HasSubstr("L1 L2 L3 L4"), HasSubstr("01234567"), HasSubstr("started fresh")));

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

TEST(CkptToolList, calls_no_level_reached_that_a_lost_node_or_file_has_broken) {
  const SampleJob job;
  job.add_snapshot(42, kUpToErasure);
  fs::remove(job.copy(3, 42));
  json levels = json::parse(run_on(job, "list --json").out)["snapshots"][0]["levels"];
  EXPECT_EQ(levels, (json{{"L1", true}, {"L2", false}, {"L3", true}, {"L4", false}}));

  job.lose_node(1);
  const json list = json::parse(run_on(job, "list --json").out);
  EXPECT_EQ(list["snapshots"][0]["levels"], (json{{"L1", false}, {"L2", false}, {"L3", false}, {"L4", false}}));
  EXPECT_EQ(list["snapshots"][0]["recoverable"], true);
  EXPECT_THAT(run_on(job, "list").out, AllOf(HasSubstr("L1 (3/4 nodes)"), HasSubstr("node 1 not found")));
}

TEST(CkptToolList, says_in_one_line_that_nothing_is_there) {
  const SampleJob job;
  fs::create_directories(job.local() + "/node0000/heat");
  fs::create_directories(job.global());
  for (const char* command : {"list --job heat", "verify --job heat", "inspect --job heat"}) {
    const Outcome outcome = run_on(job, command);
    EXPECT_EQ(outcome.code, 2);
    EXPECT_THAT(outcome.err, AllOf(HasSubstr("no snapshots of job heat in"), HasSubstr(job.local())));
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
  EXPECT_THAT(run_tool("verify --help").out, HasSubstr("Example"));
  EXPECT_THAT(run_tool("--version").out, HasSubstr("ckpt-tool " CAIRN_VERSION_TEXT));
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
  EXPECT_THAT(outcome.out,
              AllOf(HasSubstr("all good"), HasSubstr("recoverable: ranks 0-7 from L1"), HasSubstr("L1, L2, L4"),
                    Not(HasSubstr("note:")), HasSubstr("newest recoverable: version 42")));
  EXPECT_EQ(outcome.err, "");
  const Outcome quiet = run_on(job, "verify --quiet");
  EXPECT_EQ(lines_in(quiet.out), 1U) << quiet.out;
}

TEST_P(CkptToolVerify, names_a_shard_with_a_flipped_byte_and_where_the_rank_comes_from_instead) {
  flip_middle_byte(job.shard(3, 42));
  expect_damage(job, {job.shard(3, 42) + " (rank 3, L1): block 0 of 1: CRC-32C is", "rank 3 from L2", "1 damaged"});
  const json report = json::parse(run_on(job, "verify --json").out);
  EXPECT_EQ(report["summary"]["damaged"], 1);
  EXPECT_EQ(report["snapshots"][0]["sources"]["L2"], json::array({3}));
}

TEST_P(CkptToolVerify, names_a_shard_with_a_damaged_header) {
  flip_byte(job.shard(3, 42), 40);
  expect_damage(job, {job.shard(3, 42) + " (rank 3, L1): ", "header"});
}

TEST_P(CkptToolVerify, names_a_shard_whose_padding_was_changed) {
  flip_byte(job.shard(3, 42), 4090 + 4096 - 1);
  expect_damage(job, {job.shard(3, 42) + " (rank 3, L1): "});
}

TEST_P(CkptToolVerify, names_a_shard_that_was_cut_or_is_gone) {
  cut(job.shard(3, 42), 8192);
  fs::remove(job.shard(4, 42));
  expect_damage(job, {"damaged: " + job.shard(3, 42) + " (rank 3, L1): it is 8192 bytes long",
                      "missing: " + job.shard(4, 42) + " (rank 4, L1): does not exist", "ranks 3-4 from L2"});
}

TEST_P(CkptToolVerify, names_a_shard_that_is_another_ranks) {
  fs::copy_file(job.shard(2, 42), job.shard(3, 42), fs::copy_options::overwrite_existing);
  expect_damage(job, {job.shard(3, 42) + " (rank 3, L1): it is a shard of rank 2, should be of rank 3"});
}

TEST_P(CkptToolVerify, names_a_shard_that_is_of_another_snapshot) {
  job.add_snapshot(43, {LevelId::local});
  fs::copy_file(job.shard(3, 42), job.shard(3, 43), fs::copy_options::overwrite_existing);
  expect_damage(job, {job.shard(3, 43) + " (rank 3, L1): "});
}

TEST_P(CkptToolVerify, names_a_damaged_copy_though_nothing_needs_it) {
  flip_middle_byte(job.copy(3, 42));
  expect_damage(job, {job.copy(3, 42) + " (rank 3, L2): block 0", "recoverable: ranks 0-7 from L1"});
}

TEST_P(CkptToolVerify, names_a_damaged_parity_file) {
  flip_middle_byte(job.parity(2, 1, 42));
  flip_byte(job.parity(1, 0, 42), 30);
  fs::remove(job.parity(0, 0, 42));
  expect_damage(job, {job.parity(2, 1, 42) + " (L3): block 0 of 1: CRC-32C is",
                      job.parity(1, 0, 42) + " (L3): parity file header", "missing: " + job.parity(0, 0, 42)});
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
  expect_damage(job, {file + " (L3): byte 4196 differs from the parity", "1 damaged"});
}

TEST_P(CkptToolVerify, names_a_node_manifest_that_cannot_be_read_and_the_ranks_it_spoke_of) {
  flip_byte(job.node(3, 42) + "/manifest.json", 0);
  expect_damage(
      job, {"damaged: " + job.node(3, 42) + "/manifest.json: ", "missing: node 3 (ranks 6-7): ", "ranks 6-7 from L2"});
  const Outcome list = run_on(job, "list");
  EXPECT_EQ(list.code, 1);
  EXPECT_THAT(list.err, HasSubstr(job.node(3, 42) + "/manifest.json"));
}

TEST_P(CkptToolVerify, does_not_call_damaged_or_missing_what_it_fails_to_read) {
  const std::string manifest = job.node(1, 42) + "/manifest.json";
  fs::rename(manifest, manifest + ".moved");
  fs::create_symlink(manifest + ".moved", manifest);
  const Outcome outcome = run_on(job, "verify");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("unreadable: " + manifest + ": cannot open"),
                                 HasSubstr(" unreadable; newest recoverable"), Not(HasSubstr("damaged")),
                                 Not(HasSubstr("missing"))));
  EXPECT_GT(json::parse(run_on(job, "verify --json").out)["summary"]["unreadable"], 0);
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
    const Outcome outcome = run_on(job, "verify" + with_key);
    EXPECT_EQ(outcome.code, 2);
    EXPECT_THAT(outcome.out, AllOf(HasSubstr("unreadable: " + store), HasSubstr("newest recoverable: version 42"),
                                   Not(HasSubstr("damaged")), Not(HasSubstr("untrusted")), Not(HasSubstr("missing"))));
    fs::rename(mark + ".moved", mark);
  }
}

TEST_P(CkptToolVerify, names_a_manifest_that_contradicts_the_owner_of_a_shard) {
  rewrite_json(job.node(2, 42) + "/manifest.json", "\"rank\": 0,\n", "\"rank\": 0, \"x\": 1,\n");
  const json manifest = json::parse(read_whole(job.node(2, 42) + "/manifest.json"));
  const std::string right = manifest["holdings"][0]["erasure"]["members"][0][1]["sha256"];
  rewrite_json(job.node(2, 42) + "/manifest.json", right, std::string(64, 'a'));
  expect_damage(job, {job.node(2, 42) + "/manifest.json: lists the shard of rank 1 with"});
}

TEST_P(CkptToolVerify, names_a_node_whose_manifest_is_gone) {
  fs::remove(job.node(3, 42) + "/manifest.json");
  expect_damage(job, {"missing: node 3 (ranks 6-7): none of the stores"});
}

TEST_P(CkptToolVerify, names_damaged_files_of_the_global_store) {
  const std::string dir = job.global_snapshot(42);
  flip_middle_byte(dir + "/node0001.h5");
  cut(dir + "/node0002.h5", 5000);
  fs::remove(dir + "/node0003.h5");
  flip_byte(dir + "/checkpoint.h5", 0);
  expect_damage(job, {"damaged: " + dir + "/node0001.h5 (rank ",
                      "damaged: " + dir + "/node0002.h5 (ranks 4-5, L4): it is 5000 bytes long",
                      "missing: " + dir + "/node0003.h5 (ranks 6-7, L4)", "damaged: " + dir + "/checkpoint.h5 (L4)"});
}

TEST_P(CkptToolVerify, names_a_master_file_that_is_gone_or_of_another_snapshot) {
  fs::remove(job.global_snapshot(42) + "/checkpoint.h5");
  expect_damage(job, {"missing: " + job.global_snapshot(42) + "/checkpoint.h5"});
  job.add_snapshot(43, kEveryLevel);
  fs::copy_file(job.global_snapshot(43) + "/checkpoint.h5", job.global_snapshot(42) + "/checkpoint.h5");
  expect_damage(job, {"damaged: " + job.global_snapshot(42) + "/checkpoint.h5 (L4): its SHA-256 is "});
  change_json(job.global_snapshot(42) + "/manifest.json", as_format_1);
  expect_damage(job, {"damaged: " + job.global_snapshot(42) + "/checkpoint.h5 (L4): it is of version 43"});
}

TEST_P(CkptToolVerify, names_a_global_manifest_that_cannot_be_read) {
  flip_byte(job.global_snapshot(42) + "/manifest.json", 0);
  expect_damage(job, {"damaged: " + job.global_snapshot(42) + "/manifest.json: ", "recoverable: ranks 0-7 from L1"});
}

TEST_P(CkptToolVerify, names_a_global_manifest_that_contradicts_the_shards) {
  const std::string file = job.global_snapshot(42) + "/manifest.json";
  const std::string right = json::parse(read_whole(file))["shards"][5]["sha256"];
  rewrite_json(file, right, std::string(64, 'b'));
  expect_damage(job, {"damaged: " + file + ": lists the shard of rank 5 with", "node0002.h5 (rank 5, L4): "});
}

TEST_P(CkptToolVerify, says_which_level_is_left_as_nodes_are_lost) {
  job.lose_node(1);
  expect_damage(job, {"missing: node 1 (ranks 2-3)", "ranks 2-3 from L2"});
  job.lose_node(2);
  expect_damage(job, {"ranks 4-5 from L2, ranks 2-3 from L3"});
  fs::remove_all(job.local());
  const Outcome outcome = run_on(job, "verify");
  EXPECT_EQ(outcome.code, 0) << outcome.out;  // what L4 promised is there, whole
  EXPECT_THAT(outcome.out, HasSubstr("recoverable: ranks 0-7 from L4"));
}

TEST_P(CkptToolVerify, names_the_ranks_that_nothing_gives_back) {
  fs::remove_all(job.global());
  for (const std::uint32_t node : {0, 1, 2}) job.lose_node(node);
  expect_damage(job, {"not recoverable: ", "no source for ranks 0, 1, 2, 3", "nothing is recoverable"});
}

TEST_P(CkptToolVerify, refuses_what_a_newer_version_wrote) {
  rewrite_json(job.node(0, 42) + "/manifest.json", "\"format\": 6", "\"format\": 9");
  for (const char* command : {"verify", "list", "inspect"}) {
    const Outcome outcome = run_on(job, command);
    EXPECT_EQ(outcome.code, 2) << command;
    EXPECT_THAT(outcome.out + outcome.err, AllOf(HasSubstr("format 9 is newer than 7"), HasSubstr(job.node(0, 42))));
  }
}

TEST_P(CkptToolVerify, reads_only_the_version_that_was_asked_for) {
  job.add_snapshot(43, {LevelId::local});
  flip_middle_byte(job.shard(3, 42));
  EXPECT_EQ(run_on(job, "verify --version 43").code, 0);
  EXPECT_EQ(run_on(job, "verify --version 42").code, 1);
  EXPECT_THAT(run_on(job, "verify").out, HasSubstr("newest recoverable: version 43"));
}

TEST_P(CkptToolVerify, is_not_misled_by_a_file_that_no_manifest_names) {
  std::ofstream(job.node(0, 42) + "/rank000099.shard") << "being written";
  std::ofstream(job.local() + "/node0000/heat/notes.txt") << "by hand";
  EXPECT_EQ(run_on(job, "verify").code, 0);
}

}  // namespace
}  // namespace cairn::test
