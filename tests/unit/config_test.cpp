#include "config/config.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "config/config_keys.hpp"

namespace cairn {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::ElementsAre;
using Variables = std::map<std::string, std::string>;

std::string error_of(const std::string& text, const Variables& environment = {}) {
  const auto config = parse_config(text, "heat.ini", environment);
  if (config) return "no error";
  EXPECT_EQ(config.error().code, Code::config);
  return config.error().text();
}

Config config_of(const std::string& text, const Variables& environment = {}) {
  const auto config = parse_config(text, "heat.ini", environment);
  EXPECT_TRUE(config) << config.error().text();
  return config.value_or(Config{});
}

void expect_defaults(const Config& config) {
  EXPECT_EQ(config.job.name, "job");
  EXPECT_EQ(config.storage.local, "/dev/shm/cairn-" + std::to_string(::geteuid()));
  EXPECT_EQ(config.storage.global, "./checkpoints");
  EXPECT_EQ(config.storage.keep_local, 2U);
  EXPECT_EQ(config.storage.keep_global, 1U);
  EXPECT_EQ(config.levels.of(LevelId::local), (Interval{Interval::Kind::calls, 1, {}}));
  EXPECT_EQ(config.levels.of(LevelId::partner), (Interval{Interval::Kind::calls, 4, {}}));
  EXPECT_EQ(config.levels.of(LevelId::erasure), (Interval{Interval::Kind::calls, 8, {}}));
  EXPECT_EQ(config.levels.of(LevelId::global), (Interval{Interval::Kind::time, 0, minutes(30)}));
  EXPECT_EQ(config.head.mode, std::nullopt);
  EXPECT_EQ(config.head.threads, 0U);
  EXPECT_EQ(config.head.wait_limit, minutes(10));
  EXPECT_EQ(config.partner.copies, 1U);
  EXPECT_EQ(config.partner.rotation, 1U);
  EXPECT_EQ(config.erasure.group, 8U);
  EXPECT_EQ(config.erasure.parity, 2U);
  EXPECT_TRUE(config.topology.node_size.empty());
  EXPECT_TRUE(config.topology.domains.empty());
  EXPECT_EQ(config.restart.mode, Config::Restart::Mode::automatic);
  EXPECT_EQ(config.restart.at_end, Config::Restart::AtEnd::finished);
  EXPECT_TRUE(config.restart.use_failure_topology);
  EXPECT_EQ(config.restart.verify, Config::Restart::Verify::crc);
  EXPECT_TRUE(config.restart.stop_signal);
  EXPECT_EQ(config.recovery.mode, Config::Recovery::Mode::restart);
  EXPECT_THAT(config.failures.mtbf, ElementsAre(hours(12), hours(72), hours(240), hours(1440)));
  EXPECT_EQ(config.log.level, LogLevel::info);
  EXPECT_TRUE(config.log.trace.empty());
}

std::string read_file(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// A directory of its own that is gone at the end.
class Scratch {
 public:
  Scratch() {
    auto pattern = (std::filesystem::temp_directory_path() / "cairn-config-XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  ~Scratch() { std::filesystem::remove_all(path_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path_ / name) << text;
    return (path_ / name).string();
  }
  [[nodiscard]] std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

TEST(Config, nothing_at_all_is_a_configuration_with_the_documented_defaults) {
  const auto config = config_of("");
  expect_defaults(config);
  EXPECT_TRUE(config.levels.insisted.empty());
  EXPECT_EQ(config.levels.wanted(), LevelSet::of_bits(0x1e));
}

TEST(Config, the_annotated_file_lists_every_key_with_its_default) {
  const auto text = read_file(std::filesystem::path(CAIRN_SOURCE_DIR) / "config/cairn.ini");
  expect_defaults(config_of(text));

  // With the semicolons off (a line ";key = value" against "; words") it says the same.
  std::istringstream lines(text);
  std::string uncommented;
  for (std::string line; std::getline(lines, line);) {
    const bool is_key = line.size() > 1 && line[0] == ';' && line[1] != ' ';
    uncommented += (is_key ? line.substr(1) : line) + "\n";
  }
  const auto config = config_of(uncommented);
  expect_defaults(config);
  EXPECT_EQ(config.levels.insisted, LevelSet::of_bits(0x1e));
  for (const auto& row : config_keys()) {
    EXPECT_NE(text.find("[" + std::string(row.section) + "]"), std::string::npos) << row.section;
    EXPECT_NE(text.find("\n;" + std::string(row.key) + " ="), std::string::npos) << row.section << ' ' << row.key;
  }
}

TEST(Config, a_place_for_node_stores_may_have_the_users_number_in_it) {
  const std::string user = std::to_string(::geteuid());
  EXPECT_EQ(config_of("[storage]\nlocal = /nvme/<uid>/cairn-<uid>").storage.local, "/nvme/" + user + "/cairn-" + user);
}

TEST(Config, reads_every_key) {
  const auto config = config_of(R"(
[job]
name = heat-2.5_a
[storage]
local = /mnt/nvme/cairn    ; fast
global = /scratch/me
keep_local = 3
keep_global = 4
[levels]
  l1 = every 2
  l2 = 90s
  l3 = off
  l4 = every 100
[head]
mode = inline
threads = 4
wait_limit = 500ms
[partner]
copies = 3
rotation = 2
[erasure]
group = 16
parity = 4
[topology]
node_size = (3, 2,2)
domains = racks.txt
[restart]
mode = required
at_end = continue
use_failure_topology = off
verify = sha256
stop_signal = off
[recovery]
mode = restart
[failures]
mtbf = 12h, 3d, 10d, 60d
[log]
level = debug
trace = traces/heat.json
)");
  EXPECT_EQ(config.job.name, "heat-2.5_a");
  EXPECT_EQ(config.storage.local, "/mnt/nvme/cairn");
  EXPECT_EQ(config.storage.global, "/scratch/me");
  EXPECT_EQ(config.storage.keep_local, 3U);
  EXPECT_EQ(config.storage.keep_global, 4U);
  EXPECT_EQ(config.levels.of(LevelId::local), (Interval{Interval::Kind::calls, 2, {}}));
  EXPECT_EQ(config.levels.of(LevelId::partner), (Interval{Interval::Kind::time, 0, seconds(90)}));
  EXPECT_EQ(config.levels.of(LevelId::erasure), Interval{});
  EXPECT_EQ(config.levels.of(LevelId::global), (Interval{Interval::Kind::calls, 100, {}}));
  EXPECT_FALSE(config.levels.wanted().has(LevelId::erasure));
  EXPECT_EQ(config.head.mode, HeadMode::inline_);
  EXPECT_EQ(config.head.threads, 4U);
  EXPECT_EQ(config.head.wait_limit, milliseconds(500));
  EXPECT_EQ(config.partner.copies, 3U);
  EXPECT_EQ(config.partner.rotation, 2U);
  EXPECT_EQ(config.erasure.group, 16U);
  EXPECT_EQ(config.erasure.parity, 4U);
  EXPECT_THAT(config.topology.node_size, ElementsAre(3, 2, 2));
  EXPECT_EQ(config.topology.domains, "racks.txt");
  EXPECT_EQ(config.restart.mode, Config::Restart::Mode::required);
  EXPECT_EQ(config.restart.at_end, Config::Restart::AtEnd::continue_);
  EXPECT_FALSE(config.restart.use_failure_topology);
  EXPECT_EQ(config.restart.verify, Config::Restart::Verify::sha256);
  EXPECT_FALSE(config.restart.stop_signal);
  EXPECT_THAT(config.failures.mtbf, ElementsAre(hours(12), hours(72), hours(240), hours(1440)));
  EXPECT_EQ(config.log.level, LogLevel::debug);
  EXPECT_EQ(config.log.trace, "traces/heat.json");
}

TEST(Config, knows_which_levels_the_user_insists_on) {
  const auto config = config_of("[levels]\nl2 = every 2\n", {{"CAIRN_LEVELS_L4", "1h"}});
  EXPECT_EQ(config.levels.insisted, LevelSet::of_bits(1U << 2U | 1U << 4U));
}

TEST(Config, a_level_left_to_cairn_is_not_one_that_the_user_insists_on) {
  const auto config = config_of("[levels]\nl2 = auto\nl3 = every 2\n", {{"CAIRN_LEVELS_L3", "auto"}});
  EXPECT_EQ(config.levels.of(LevelId::partner).kind, Interval::Kind::automatic);
  EXPECT_EQ(config.levels.of(LevelId::erasure).kind, Interval::Kind::automatic);
  EXPECT_TRUE(config.levels.wanted().has(LevelId::partner));
  EXPECT_TRUE(config.levels.insisted.empty());
}

TEST(Config, leaves_the_head_mode_to_the_session_if_it_is_auto) {
  EXPECT_EQ(config_of("[head]\nmode = auto").head.mode, std::nullopt);
  EXPECT_EQ(config_of("[head]\nmode = rank").head.mode, HeadMode::rank);
}

TEST(Config, reads_times_in_all_units) {
  const auto time = [](const std::string& text) { return config_of("[head]\nwait_limit = " + text).head.wait_limit; };
  EXPECT_EQ(time("500ms"), milliseconds(500));
  EXPECT_EQ(time("90s"), seconds(90));
  EXPECT_EQ(time("10min"), minutes(10));
  EXPECT_EQ(time("12h"), hours(12));
  EXPECT_EQ(time("3d"), hours(72));
}

TEST(Config, reads_windows_lines_a_byte_order_mark_and_long_comments) {
  const auto config =
      config_of("\xEF\xBB\xBF[job]\r\nname = heat\r\n;" + std::string(1000, 'x') + "\r\n[head]\r\nmode=thread");
  EXPECT_EQ(config.job.name, "heat");
  EXPECT_EQ(config.head.mode, HeadMode::thread);
}

TEST(Config, a_value_that_cannot_be_is_answered_with_file_line_key_and_what_would_be_right) {
  EXPECT_EQ(error_of("\n; a\n[levels]\n\nl1 = every 1\n; b\nl2 = evry 4\nl3 = off"),
            "heat.ini:7: [levels] l2 = evry 4: not an interval; write every N, 90s, 10min, auto or off");
  for (const std::string bad :
       {"every 0", "every", "every 2x", "10", "10 parsecs", "-5s", "0s", "99999d", "1.5h", ""}) {
    EXPECT_EQ(error_of("[levels]\nl2 = " + bad),
              "heat.ini:2: [levels] l2 = " + bad + ": not an interval; write every N, 90s, 10min, auto or off");
  }
  EXPECT_EQ(error_of("[storage]\nkeep_local = 0"),
            "heat.ini:2: [storage] keep_local = 0: out of range; write 1 to 1000");
  EXPECT_EQ(error_of("[storage]\nkeep_local = two"),
            "heat.ini:2: [storage] keep_local = two: not a whole number; write 1 to 1000");
  EXPECT_EQ(error_of("[storage]\nlocal ="), "heat.ini:2: [storage] local = : empty; write the path of a directory");
  EXPECT_EQ(error_of("[partner]\ncopies = 9"), "heat.ini:2: [partner] copies = 9: out of range; write 1 to 8");
  EXPECT_EQ(error_of("[partner]\nrotation = 0"), "heat.ini:2: [partner] rotation = 0: out of range; write 1 to 8");
  EXPECT_EQ(error_of("[erasure]\ngroup = 256"), "heat.ini:2: [erasure] group = 256: out of range; write 2 to 255");
  EXPECT_EQ(error_of("[head]\nmode = ranks"),
            "heat.ini:2: [head] mode = ranks: not one of its values; write auto, rank, thread or inline");
  EXPECT_EQ(error_of("[head]\nthreads = 0"),
            "heat.ini:2: [head] threads = 0: not a number of threads; write auto or 1 to 1024");
  EXPECT_EQ(error_of("[head]\nthreads = 2000"),
            "heat.ini:2: [head] threads = 2000: not a number of threads; write auto or 1 to 1024");
  EXPECT_EQ(error_of("[head]\nwait_limit = 5"),
            "heat.ini:2: [head] wait_limit = 5: not a time; write 500ms, 90s, 10min, 12h or 3d");
  EXPECT_EQ(error_of("[restart]\nverify = md5"),
            "heat.ini:2: [restart] verify = md5: not one of its values; write crc or sha256");
  EXPECT_EQ(error_of("[restart]\nstop_signal = yes"),
            "heat.ini:2: [restart] stop_signal = yes: not one of its values; write on or off");
  EXPECT_EQ(error_of("[failures]\nmtbf = 12h, 3d, 10d"),
            "heat.ini:2: [failures] mtbf = 12h, 3d, 10d: not four times; write one a level: 12h, 3d, 10d, 60d");
  EXPECT_EQ(error_of("[log]\nlevel = loud"),
            "heat.ini:2: [log] level = loud: not one of its values; write error, warning, info, debug or off");
  for (const std::string bad : {"3,0", "3,,2", "(3", "3 2", "x"}) {
    EXPECT_EQ(
        error_of("[topology]\nnode_size = " + bad),
        "heat.ini:2: [topology] node_size = " + bad +
            ": not sizes of nodes in ranks; write 0 for real hosts, one number for all nodes, or one a node: 3,2,2");
  }
}

TEST(Config, a_job_name_is_one_plain_component_of_a_path) {
  for (const std::string bad : {"", "..", ".hidden", "a/b", "a b", "caf\xC3\xA9"}) {
    EXPECT_EQ(error_of("[job]\nname = " + bad),
              "heat.ini:2: [job] name = " + bad +
                  ": not a job name; write up to 128 of A-Z a-z 0-9 . _ -, not starting "
                  "with a dot");
  }
  EXPECT_NE(error_of("[job]\nname = " + std::string(129, 'a')), "no error");
}

TEST(Config, parity_must_leave_room_for_data_in_a_group) {
  EXPECT_EQ(error_of("[erasure]\nparity = 9"),
            "heat.ini:2: [erasure] parity = 9: must be less than group = 8; write 1 to 7");
  EXPECT_EQ(error_of("[erasure]\ngroup = 2"),
            "heat.ini:2: [erasure] group = 2: must be more than parity = 2; write 3 or more, or a smaller parity");
  EXPECT_EQ(error_of("[erasure]\ngroup = 4\nparity = 3", {{"CAIRN_ERASURE_PARITY", "4"}}),
            "CAIRN_ERASURE_PARITY = 4: must be less than group = 4; write 1 to 3");
}

TEST(Config, a_key_asks_for_sha256) {
  const auto config = parse_config("[integrity]\nkey_file = /home/ann/key\n", "heat.ini", {});
  ASSERT_TRUE(config) << config.error().text();
  EXPECT_EQ(config->integrity.key_file, "/home/ann/key");
  EXPECT_TRUE(parse_config("[integrity]\nkey_file = key\n[restart]\nverify = sha256\n", "heat.ini", {}));
  EXPECT_TRUE(parse_config("[integrity]\nkey_file =\n[restart]\nverify = crc\n", "heat.ini", {}));
  EXPECT_EQ(
      error_of("[restart]\nverify = crc\n[integrity]\nkey_file = key"),
      "heat.ini:2: [restart] verify = crc: [integrity] key_file is set, and needs SHA-256; write verify = sha256, "
      "or leave it out");
}

TEST(Config, has_sha256_of_blocks_where_it_is_asked_for_or_needed) {
  using Digest = Config::Integrity::Digest;
  const auto digest_in = [](const std::string& text) {
    return parse_config(text, "heat.ini", {}).value().integrity.digest;
  };
  EXPECT_EQ(digest_in(""), Digest::crc32c);
  EXPECT_EQ(digest_in("[integrity]\ndigest = sha256"), Digest::sha256);
  EXPECT_EQ(digest_in("[restart]\nverify = sha256"), Digest::sha256);
  EXPECT_EQ(digest_in("[integrity]\nkey_file = key"), Digest::sha256);
  EXPECT_EQ(error_of("[integrity]\ndigest = md5"),
            "heat.ini:2: [integrity] digest = md5: not one of its values; write crc32c or sha256");
  EXPECT_EQ(
      error_of("[integrity]\ndigest = crc32c\n[restart]\nverify = sha256"),
      "heat.ini:2: [integrity] digest = crc32c: [restart] verify = sha256 is set, and needs SHA-256; write digest = "
      "sha256, or leave it out");
  EXPECT_EQ(error_of("[integrity]\ndigest = crc32c\nkey_file = key"),
            "heat.ini:2: [integrity] digest = crc32c: [integrity] key_file is set, and needs SHA-256; write digest = "
            "sha256, or leave it out");
}

TEST(Config, recovery_inside_a_running_job_says_what_it_needs) {
  const auto config = parse_config(
      "[recovery]\nmode = spares\nspares = 3\nwhen_spent = respawn\nhang_timeout = 5s\nstraggler_limit = 90s\n"
      "limit = 30s\n[head]\nmode = inline\n",
      "heat.ini", {});
  ASSERT_TRUE(config) << config.error().text();
  EXPECT_EQ(config->recovery.mode, Config::Recovery::Mode::spares);
  EXPECT_EQ(config->recovery.spares, 3U);
  EXPECT_EQ(config->recovery.when_spent, Config::Recovery::WhenSpent::respawn);
  EXPECT_EQ(config->recovery.hang_timeout, std::chrono::seconds(5));
  EXPECT_EQ(config->recovery.straggler_limit, std::chrono::seconds(90));
  EXPECT_EQ(config->recovery.limit, std::chrono::seconds(30));
  const auto off = config_of("[recovery]\nmode = spares\nhang_timeout = off\nstraggler_limit = off");
  EXPECT_EQ(off.recovery.hang_timeout, kForever);
  EXPECT_EQ(off.recovery.straggler_limit, kForever);
  EXPECT_EQ(error_of("[recovery]\nspares = 2"),
            "[recovery] spares = 2: mode = restart has no use for them (set mode = spares)");
  EXPECT_EQ(error_of("[recovery]\nmode = respawn\n[head]\nmode = thread"),
            "[head] mode = thread: a job that repairs itself cannot have head threads (set [head] mode = rank or "
            "inline, or [recovery] mode = restart)");
  EXPECT_EQ(error_of("[recovery]\nhang_timeout = never"),
            "heat.ini:2: [recovery] hang_timeout = never: not a time; write off, 500ms, 90s or 10min");
}

TEST(Config, an_unknown_name_is_answered_with_the_nearest_known_one) {
  EXPECT_EQ(error_of("[job]\nname = a\n[level]\nl1 = off"),
            "heat.ini:3: [level]: no such section; did you mean [levels]?");
  EXPECT_EQ(error_of("[storag]\n"), "heat.ini:1: [storag]: no such section; did you mean [storage]?");
  EXPECT_EQ(error_of("[storage]\nkeep_locl = 1"),
            "heat.ini:2: [storage] keep_locl: no such key; did you mean keep_local?");
  EXPECT_EQ(error_of("[erasure]\ncopies = 1"),
            "heat.ini:2: [erasure] copies: no such key; did you mean [partner] copies?");
  EXPECT_EQ(error_of("[storage]\nloacl = /x"), "heat.ini:2: [storage] loacl: no such key; did you mean local?");
  EXPECT_EQ(error_of("[partner]\nl2 = off"), "heat.ini:2: [partner] l2: no such key; did you mean [levels] l2?");
  EXPECT_EQ(error_of("copies = 1"), "heat.ini:1: copies: is in no section; write [partner] above it");
}

TEST(Config, an_unknown_name_that_is_near_to_none_is_answered_with_the_names_that_there_are) {
  EXPECT_EQ(error_of("[job]\nfoo = 1"),
            "heat.ini:2: [job] foo: no such key; the keys of [job] are name, on_storage_error, tap");
  EXPECT_EQ(error_of("[levels]\nl5 = off"),
            "heat.ini:2: [levels] l5: no such key; the keys of [levels] are l1, l2, l3, l4");
  EXPECT_EQ(error_of("[foo]\n"),
            "heat.ini:1: [foo]: no such section; the sections are [job], [storage], [levels], [head], [partner], "
            "[erasure], [topology], [restart], [integrity], [recovery], [failures], [log]");
  EXPECT_EQ(error_of("foo = 1"), "heat.ini:1: foo: is in no section; write [section] above it");
  EXPECT_EQ(error_of("", {{"CAIRN_LEVELS_L5", "every 4"}}),
            "CAIRN_LEVELS_L5: no such key; the keys of [levels] are l1, l2, l3, l4");
}

TEST(Config, a_key_that_is_set_twice_is_an_error_that_names_both_lines) {
  EXPECT_EQ(error_of("[levels]\nl2 = off\n[job]\n[levels]\nl2 = every 4"),
            "heat.ini:5: [levels] l2: is set twice, first in line 2; keep one");
}

TEST(Config, lines_that_are_no_ini_are_errors_and_the_first_mistake_is_named) {
  EXPECT_EQ(error_of("[job]\nname heat"), "heat.ini:2: not a line of INI; write [section] or key = value");
  EXPECT_EQ(error_of("[job\nname = heat"), "heat.ini:1: not a line of INI; write [section] or key = value");
  EXPECT_EQ(error_of("[job]\nnam = x\nname heat"), "heat.ini:2: [job] nam: no such key; did you mean name?");
  EXPECT_EQ(error_of("[job]\nname heat\nnam = x"), "heat.ini:2: not a line of INI; write [section] or key = value");
  EXPECT_EQ(error_of("[job] name = heat"),
            "heat.ini:1: [job]: more follows on its line; write the keys on lines of their own");
  EXPECT_EQ(error_of("[storage]\nlocal = /" + std::string(300, 'x')),
            "heat.ini:2: too long; write at most 197 characters");
  EXPECT_EQ(error_of(std::string("[job]\nname = a\0b", 16)), "heat.ini:2: has a zero byte; write text");
}

TEST(Config, environment_variables_override_the_file) {
  const auto config = config_of("[levels]\nl2 = every 4\n[job]\nname = a\n",
                                {{"CAIRN_LEVELS_L2", "every 9"}, {"CAIRN_RESTART_USE_FAILURE_TOPOLOGY", "off"}});
  EXPECT_EQ(config.levels.of(LevelId::partner).calls, 9U);
  EXPECT_FALSE(config.restart.use_failure_topology);
  EXPECT_EQ(config.job.name, "a");
}

TEST(Config, mistakes_in_environment_variables_name_the_variable) {
  EXPECT_EQ(error_of("", {{"CAIRN_LEVELS_L2", "evry 4"}}),
            "CAIRN_LEVELS_L2 = evry 4: not an interval; write every N, 90s, 10min, auto or off");
  EXPECT_EQ(error_of("", {{"CAIRN_STORAGE_KEEP_LOCL", "2"}}),
            "CAIRN_STORAGE_KEEP_LOCL: no such key; did you mean CAIRN_STORAGE_KEEP_LOCAL?");
}

TEST(Config, variables_of_no_section_are_not_read_and_told_of_when_they_look_like_one) {
  const auto config = config_of("", {{"CAIRN_ROOT", "/opt/cairn"}, {"CAIRN_DIR", "/opt"}, {"CAIRN_LEVEL_L2", "off"}});
  EXPECT_EQ(config.levels.of(LevelId::partner), Config{}.levels.of(LevelId::partner));
  EXPECT_THAT(config.warnings,
              testing::ElementsAre("CAIRN_LEVEL_L2 is not read: no such key; did you mean CAIRN_LEVELS_L2?"));
}

TEST(ConfigSource, is_the_file_the_variables_and_the_domains_that_they_name) {
  const Scratch scratch;
  const auto domains = scratch.write("racks.txt", "a rack1\n");
  const auto file = scratch.write("heat.ini", "[job]\nname = heat\n");
  ASSERT_EQ(setenv("CAIRN_TOPOLOGY_DOMAINS", domains.c_str(), 1), 0);
  const auto source = read_config_source(file);
  unsetenv("CAIRN_TOPOLOGY_DOMAINS");
  ASSERT_TRUE(source) << source.error().text();

  const auto sent = decode_config_source(encode(*source));
  ASSERT_TRUE(sent) << sent.error().text();
  EXPECT_EQ(sent->file, file);
  const auto config = parse_config(*sent);
  ASSERT_TRUE(config) << config.error().text();
  EXPECT_EQ(config->job.name, "heat");
  EXPECT_EQ(config->topology.domains, domains);
  EXPECT_EQ(config->topology.domains_text, "a rack1\n");
}

TEST(ConfigSource, without_a_file_is_the_defaults) {
  const auto source = read_config_source("");
  ASSERT_TRUE(source) << source.error().text();
  expect_defaults(*parse_config(*source));
}

TEST(ConfigSource, a_file_that_cannot_be_read_is_an_error_that_names_it) {
  const Scratch scratch;
  EXPECT_EQ(read_config_source(scratch.path() + "/none.ini").error().text(),
            scratch.path() + "/none.ini: cannot be read: No such file or directory");
  EXPECT_EQ(read_config_source(scratch.path()).error().text(), scratch.path() + ": cannot be read: Is a directory");
  const auto file = scratch.write("heat.ini", "[topology]\ndomains = " + scratch.path() + "/none.txt\n");
  EXPECT_EQ(read_config_source(file).error().text(),
            "[topology] domains: " + scratch.path() + "/none.txt: cannot be read: No such file or directory");
}

TEST(ConfigSource, cut_short_anywhere_is_an_error) {
  const auto bytes =
      encode(ConfigSource{"heat.ini", "[job]\n", "a r\n", {{"CAIRN_JOB_NAME", "x"}, {"CAIRN_LOG_LEVEL", "off"}}});
  ASSERT_TRUE(decode_config_source(bytes));
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(decode_config_source(Bytes(bytes).first(size))) << size;
}

}  // namespace
}  // namespace cairn
