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
#include "support/facts.hpp"

namespace cairn {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using test::Fails;
using test::Names;
using ::testing::ElementsAre;
using Variables = std::map<std::string, std::string>;

Result<Config> parsed(const std::string& text, const Variables& environment = {}) {
  return parse_config(text, "heat.ini", environment);
}

Config config_of(const std::string& text, const Variables& environment = {}) {
  const auto config = parse_config(text, "heat.ini", environment);
  EXPECT_TRUE(config) << config.error().text();
  return config.value_or(Config{});
}

void expect_defaults(const Config& config) {
  EXPECT_EQ(config.job.name, "job");
  EXPECT_EQ(config.job.world, std::nullopt);
  EXPECT_EQ(config.storage.local, "/dev/shm/cairn-" + std::to_string(::geteuid()));
  EXPECT_EQ(config.storage.global, "./checkpoints");
  EXPECT_EQ(config.storage.keep_local, 2U);
  EXPECT_EQ(config.storage.keep_global, 1U);
  EXPECT_EQ(config.storage.access, Readers::owner);
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
  EXPECT_TRUE(config.localize.on);
  EXPECT_EQ(config.localize.fanout, 8U);
  EXPECT_EQ(config.localize.threshold, 3U);
  EXPECT_EQ(config.localize.window, std::chrono::minutes(10));
  EXPECT_EQ(config.localize.stuck_after, std::chrono::minutes(10));
  EXPECT_EQ(config.localize.silent_after, std::chrono::seconds(30));
  EXPECT_TRUE(config.localize.rules.empty());
  EXPECT_EQ(config.localize.act, localize::Act::avoid);
  EXPECT_EQ(config.restart.mode, Config::Restart::Mode::automatic);
  EXPECT_EQ(config.restart.at_end, Config::Restart::AtEnd::finished);
  EXPECT_TRUE(config.restart.elastic);
  EXPECT_TRUE(config.restart.use_failure_topology);
  EXPECT_EQ(config.restart.verify, Config::Restart::Verify::crc);
  EXPECT_EQ(config.restart.stop_signal, SIGUSR1);
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
    EXPECT_THAT(text, Names({"[" + std::string(row.section) + "]"})) << row.section;
    EXPECT_THAT(text, Names({";" + std::string(row.key) + " ="})) << row.section << ' ' << row.key;
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
world = as is
[storage]
local = /mnt/nvme/cairn    ; fast
global = /scratch/me
keep_local = 3
keep_global = 4
access = group
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
elastic = off
use_failure_topology = off
verify = sha256
stop_signal = off
[recovery]
mode = restart
[failures]
mtbf = 12h, 3d, 10d, 60d
nodes = 100
[log]
level = debug
trace = traces/heat.json
)");
  EXPECT_EQ(config.job.name, "heat-2.5_a");
  EXPECT_EQ(config.job.world, Config::Job::World::as_is);
  EXPECT_EQ(config.storage.local, "/mnt/nvme/cairn");
  EXPECT_EQ(config.storage.global, "/scratch/me");
  EXPECT_EQ(config.storage.keep_local, 3U);
  EXPECT_EQ(config.storage.keep_global, 4U);
  EXPECT_EQ(config.storage.access, Readers::group);
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
  EXPECT_FALSE(config.restart.elastic);
  EXPECT_FALSE(config.restart.use_failure_topology);
  EXPECT_EQ(config.restart.verify, Config::Restart::Verify::sha256);
  EXPECT_EQ(config.restart.stop_signal, std::nullopt);
  EXPECT_THAT(config.failures.mtbf, ElementsAre(hours(12), hours(72), hours(240), hours(1440)));
  EXPECT_EQ(config.failures.nodes, 100U);
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

TEST(Config, leaves_the_world_to_ckpt_run_if_it_is_auto_and_refuses_helpers_that_wait_in_mpi_init) {
  EXPECT_EQ(config_of("[job]\nworld = auto").job.world, std::nullopt);
  EXPECT_EQ(config_of("[job]\nworld = application").job.world, Config::Job::World::application);
  EXPECT_THAT(parsed("[job]\nworld = as_is"),
              Fails(Code::config, {"heat.ini:2", "[job] world", "as_is", "auto", "application", "as is"}));
  for (const std::string mode : {"spares", "respawn"}) {
    EXPECT_TRUE(parsed("[job]\nworld = application\n[recovery]\nmode = " + mode)) << mode;
    EXPECT_TRUE(parsed("[job]\nworld = as is\n[recovery]\nmode = " + mode)) << mode;
  }
  const std::string helped = "[recovery]\nmode = spares\nspares = 2\nrollback = lost\n[replay]\nhelpers = 2";
  EXPECT_THAT(parsed("[job]\nworld = application\n" + helped),
              Fails(Code::config, {"[replay] helpers = 2", "[job] world = application", "as is"}));
  EXPECT_TRUE(parsed("[job]\nworld = as is\n" + helped));
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
  EXPECT_THAT(parsed("\n; a\n[levels]\n\nl1 = every 1\n; b\nl2 = evry 4\nl3 = off"),
              Fails(Code::config, {"heat.ini:7", "[levels] l2", "evry 4", "90s", "10min", "every N", "auto", "off"}));
  for (const std::string bad : {"every 0", "every", "every 2x", "10", "10 parsecs", "-5s", "0s", "99999d", "1.5h"}) {
    EXPECT_THAT(parsed("[levels]\nl2 = " + bad),
                Fails(Code::config, {"heat.ini:2", "[levels] l2", bad, "90s", "10min", "every N", "auto", "off"}));
  }
  EXPECT_THAT(parsed("[levels]\nl2 = "), Fails(Code::config, {"heat.ini:2", "[levels] l2", "90s", "10min", "every N"}));
  EXPECT_THAT(parsed("[storage]\nkeep_local = 0"),
              Fails(Code::config, {"heat.ini:2", "[storage] keep_local", "0", "1", "1000"}));
  EXPECT_THAT(parsed("[storage]\nkeep_local = two"),
              Fails(Code::config, {"heat.ini:2", "[storage] keep_local", "two", "1", "1000"}));
  EXPECT_THAT(parsed("[storage]\nlocal ="), Fails(Code::config, {"heat.ini:2", "[storage] local"}));
  EXPECT_THAT(parsed("[partner]\ncopies = 9"), Fails(Code::config, {"heat.ini:2", "[partner] copies", "9", "1", "8"}));
  EXPECT_THAT(parsed("[partner]\nrotation = 0"),
              Fails(Code::config, {"heat.ini:2", "[partner] rotation", "0", "1", "8"}));
  EXPECT_THAT(parsed("[erasure]\ngroup = 256"),
              Fails(Code::config, {"heat.ini:2", "[erasure] group", "256", "2", "255"}));
  EXPECT_THAT(parsed("[head]\nmode = ranks"),
              Fails(Code::config, {"heat.ini:2", "[head] mode", "ranks", "auto", "rank", "thread", "inline"}));
  EXPECT_THAT(parsed("[head]\nthreads = 0"),
              Fails(Code::config, {"heat.ini:2", "[head] threads", "0", "auto", "1", "1024"}));
  EXPECT_THAT(parsed("[head]\nthreads = 2000"),
              Fails(Code::config, {"heat.ini:2", "[head] threads", "2000", "auto", "1", "1024"}));
  EXPECT_THAT(parsed("[head]\nwait_limit = 5"),
              Fails(Code::config, {"heat.ini:2", "[head] wait_limit", "5", "500ms", "90s", "10min", "12h", "3d"}));
  EXPECT_THAT(parsed("[restart]\nverify = md5"),
              Fails(Code::config, {"heat.ini:2", "[restart] verify", "md5", "crc", "sha256"}));
  for (const char* wrong : {"0", "-1", "newest again", "4000000001"})
    EXPECT_THAT(parsed(fmt::format("[restart]\nversion = {}", wrong)),
                Fails(Code::config, {"heat.ini:2", "[restart] version", wrong, "newest", "5 again"}));
  EXPECT_EQ(parsed("[restart]\nversion = 5").value().restart.version, 5U);
  EXPECT_FALSE(parsed("[restart]\nversion = 5").value().restart.version_again);
  EXPECT_TRUE(parsed("[restart]\nversion = 5 again").value().restart.version_again);
  EXPECT_EQ(parsed("[restart]\nversion = newest").value().restart.version, 0U);
  EXPECT_EQ(parsed("[restart]\nversion = spin-up done").value().restart.label, "spin-up done");
  EXPECT_TRUE(parsed("[restart]\nversion = spin-up again").value().restart.version_again);
  EXPECT_EQ(parsed("[restart]\nversion = spin-up again").value().restart.label, "spin-up");
  EXPECT_EQ(parsed("[restart]\nversion = 5").value().restart.label, "");
  EXPECT_THAT(parsed("[restart]\nversion = spin-up\nmode = fresh"),
              Fails(Code::config, {"heat.ini:2", "[restart] version", "mode = auto"}));
  EXPECT_THAT(parsed("[restart]\nversion = 5\nmode = fresh"),
              Fails(Code::config, {"heat.ini:2", "[restart] version", "mode = auto"}));
  EXPECT_THAT(parsed("[restart]\nstop_signal = yes"),
              Fails(Code::config, {"heat.ini:2", "[restart] stop_signal", "yes", "on", "off", "SIGUSR2"}));
  EXPECT_EQ(parsed("[restart]\nstop_signal = SIGUSR2").value().restart.stop_signal, SIGUSR2);
  EXPECT_EQ(parsed("[restart]\nstop_signal = on").value().restart.stop_signal, SIGUSR1);
  EXPECT_THAT(parsed("[failures]\nmtbf = 12h, 3d, 10d"),
              Fails(Code::config, {"heat.ini:2", "[failures] mtbf", "12h", "3d", "10d", "60d"}));
  for (const char* bad : {"0", "all", "1.5"})
    EXPECT_THAT(parsed(std::string("[failures]\nnodes = ") + bad),
                Fails(Code::config, {"heat.ini:2", "[failures] nodes", bad, "any"}));
  EXPECT_EQ(parsed("[failures]\nnodes = any").value().failures.nodes, 0U);
  EXPECT_THAT(parsed("[log]\nlevel = loud"),
              Fails(Code::config, {"heat.ini:2", "[log] level", "loud", "error", "warning", "info", "debug", "off"}));
  for (const std::string bad : {"3,0", "3,,2", "(3", "3 2", "x"}) {
    EXPECT_THAT(parsed("[topology]\nnode_size = " + bad),
                Fails(Code::config, {"heat.ini:2", "[topology] node_size", bad, "0", "3,2,2"}));
  }
}

TEST(Config, what_a_shell_would_replace_in_a_path_is_refused) {
  for (const char* const key : {"local", "global"}) {
    const std::string place = std::string("heat.ini:2: [storage] ") + key;
    for (const char* const path : {"~/cairn", "$SCRATCH/cairn", "/scratch/${USER}", "\"/scratch/me\"", "'/scratch'"})
      EXPECT_THAT(parsed(std::string("[storage]\n") + key + " = " + path), Fails(Code::config, {place, path, "write"}));
    EXPECT_THAT(parsed("", {{std::string("CAIRN_STORAGE_") + (key[0] == 'l' ? "LOCAL" : "GLOBAL"), "~/cairn"}}),
                Fails(Code::config, {"~/cairn", "whole path"}));
  }
  EXPECT_EQ(config_of("[storage]\nlocal = /data/a~b c/~").storage.local, "/data/a~b c/~");
}

TEST(Config, a_job_name_is_one_plain_component_of_a_path) {
  for (const std::string bad : {"..", ".hidden", "a/b", "a b", "caf\xC3\xA9"}) {
    EXPECT_THAT(parsed("[job]\nname = " + bad),
                Fails(Code::config, {"heat.ini:2", "[job] name", bad, "128", "A-Z a-z 0-9 . _ -"}));
  }
  EXPECT_THAT(parsed("[job]\nname = "), Fails(Code::config, {"heat.ini:2", "[job] name", "128"}));
  EXPECT_THAT(parsed("[job]\nname = " + std::string(129, 'a')),
              Fails(Code::config, {"heat.ini:2", "[job] name", "128"}));
}

TEST(Config, parity_must_leave_room_for_data_in_a_group) {
  EXPECT_THAT(parsed("[erasure]\nparity = 9"),
              Fails(Code::config, {"heat.ini:2", "[erasure] parity", "9", "group", "8", "1", "7"}));
  EXPECT_THAT(parsed("[erasure]\ngroup = 2"),
              Fails(Code::config, {"heat.ini:2", "[erasure] group", "2", "parity", "3"}));
  EXPECT_THAT(parsed("[erasure]\ngroup = 4\nparity = 3", {{"CAIRN_ERASURE_PARITY", "4"}}),
              Fails(Code::config, {"CAIRN_ERASURE_PARITY", "4", "group", "1", "3"}));
}

TEST(Config, a_key_asks_for_sha256) {
  const auto config = parse_config("[integrity]\nkey_file = /home/ann/key\n", "heat.ini", {});
  ASSERT_TRUE(config) << config.error().text();
  EXPECT_EQ(config->integrity.key_file, "/home/ann/key");
  EXPECT_TRUE(parse_config("[integrity]\nkey_file = key\n[restart]\nverify = sha256\n", "heat.ini", {}));
  EXPECT_TRUE(parse_config("[integrity]\nkey_file =\n[restart]\nverify = crc\n", "heat.ini", {}));
  EXPECT_THAT(parsed("[restart]\nverify = crc\n[integrity]\nkey_file = key"),
              Fails(Code::config, {"heat.ini:2", "[restart] verify", "crc", "[integrity] key_file", "sha256"}));
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
  EXPECT_THAT(parsed("[integrity]\ndigest = md5"),
              Fails(Code::config, {"heat.ini:2", "[integrity] digest", "md5", "crc32c", "sha256"}));
  EXPECT_THAT(parsed("[integrity]\ndigest = crc32c\n[restart]\nverify = sha256"),
              Fails(Code::config, {"heat.ini:2", "[integrity] digest", "crc32c", "[restart] verify", "sha256"}));
  EXPECT_THAT(parsed("[integrity]\ndigest = crc32c\nkey_file = key"),
              Fails(Code::config, {"heat.ini:2", "[integrity] digest", "crc32c", "[integrity] key_file", "sha256"}));
}

TEST(Config, rollback_of_the_lost_ranks_alone_says_what_it_needs) {
  const auto config =
      config_of("[recovery]\nmode = respawn\nrollback = lost\n[replay]\nmemory = 64MiB\nsurvives = node\n");
  EXPECT_EQ(config.recovery.rollback, Config::Recovery::Rollback::lost);
  EXPECT_EQ(config.replay.memory, 64 * kMiB);
  EXPECT_EQ(config.replay.survives, Config::Replay::Survives::node);
  EXPECT_THAT(parsed("[recovery]\nrollback = lost"),
              Fails(Code::config, {"[recovery] rollback", "lost", "[recovery] mode", "restart", "spares", "respawn"}));
  EXPECT_THAT(parsed("[recovery]\nrollback = some"), Fails(Code::config, {"heat.ini:2", "[recovery] rollback", "all"}));
  EXPECT_THAT(parsed("[replay]\nsurvives = fire"), Fails(Code::config, {"heat.ini:2", "[replay] survives", "node"}));
  EXPECT_THAT(parsed("[recovery]\nmode = spares\nrollback = lost\n[job]\ntap = off"),
              Fails(Code::config, {"[recovery] rollback", "lost", "[job] tap", "off"}));
  for (const char* size : {"256", "many MiB", "2GiB", "1KiB", "-1MiB"})
    EXPECT_THAT(parsed(fmt::format("[replay]\nmemory = {}", size)),
                Fails(Code::config, {"heat.ini:2", "[replay] memory", size, "256MiB"}))
        << size;
  EXPECT_EQ(config.replay.spill, 0U);
  EXPECT_EQ(config_of("[replay]\nspill = 4GiB").replay.spill, 4 * kMiB * kKiB);
  EXPECT_EQ(config_of("[replay]\nspill = off").replay.spill, 0U);
  for (const char* size : {"on", "0", "1KiB", "2TiB"})
    EXPECT_THAT(parsed(fmt::format("[replay]\nspill = {}", size)),
                Fails(Code::config, {"heat.ini:2", "[replay] spill", size, "off", "4GiB"}))
        << size;
}

TEST(Config, helpers_need_ranks_that_roll_back_alone_and_spares) {
  const auto with = [](const std::string& more) { return parsed("[replay]\nhelpers = 3\n[recovery]\n" + more); };
  EXPECT_EQ(config_of("").replay.helpers, 1U);
  EXPECT_TRUE(check_helpers(config_of("")));
  EXPECT_THAT(with("mode = spares\nspares = 3"),
              Fails(Code::config, {"[replay] helpers", "3", "[recovery] rollback", "lost"}));
  EXPECT_THAT(parsed("[replay]\nhelpers = 0"), Fails(Code::config, {"heat.ini:2", "[replay] helpers", "0"}));
  for (const auto& [mode, spares, is_enough] :
       {std::tuple("spares", 2, false), {"spares", 3, true}, {"respawn", 1, false}, {"respawn", 2, true}}) {
    const auto config = with(fmt::format("mode = {}\nspares = {}\nrollback = lost", mode, spares));
    ASSERT_TRUE(config) << config.error().text();
    const auto checked = check_helpers(*config);
    EXPECT_EQ(checked.has_value(), is_enough) << mode << spares;
    if (is_enough) continue;
    EXPECT_THAT(checked, Fails(Code::config, {"[replay] helpers", "3", "[recovery] spares"}));
  }
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
  EXPECT_EQ(off.recovery.rollback, Config::Recovery::Rollback::all);
  EXPECT_THAT(parsed("[recovery]\nspares = 2"),
              Fails(Code::config, {"[recovery] spares", "2", "mode = restart", "mode = spares"}));
  EXPECT_THAT(parsed("[recovery]\nmode = respawn\n[head]\nmode = thread"),
              Fails(Code::config, {"[head] mode", "thread", "rank", "inline", "[recovery] mode", "restart"}));
  EXPECT_THAT(parsed("[recovery]\nhang_timeout = never"),
              Fails(Code::config, {"heat.ini:2", "[recovery] hang_timeout", "never", "500ms", "90s", "10min", "off"}));
}

TEST(Config, an_unknown_name_is_answered_with_the_nearest_known_one) {
  EXPECT_THAT(parsed("[job]\nname = a\n[level]\nl1 = off"), Fails(Code::config, {"heat.ini:3", "[level]", "[levels]"}));
  EXPECT_THAT(parsed("[storag]\n"), Fails(Code::config, {"heat.ini:1", "[storag]", "[storage]"}));
  EXPECT_THAT(parsed("[storage]\nkeep_locl = 1"),
              Fails(Code::config, {"heat.ini:2", "[storage] keep_locl", "keep_local"}));
  EXPECT_THAT(parsed("[erasure]\ncopies = 1"),
              Fails(Code::config, {"heat.ini:2", "[erasure] copies", "[partner] copies"}));
  EXPECT_THAT(parsed("[storage]\nloacl = /x"), Fails(Code::config, {"heat.ini:2", "[storage] loacl", "local"}));
  EXPECT_THAT(parsed("[partner]\nl2 = off"), Fails(Code::config, {"heat.ini:2", "[partner] l2", "[levels] l2"}));
  EXPECT_THAT(parsed("copies = 1"), Fails(Code::config, {"heat.ini:1", "copies", "[partner]"}));
}

TEST(Config, an_unknown_name_that_is_near_to_none_is_answered_with_the_names_that_there_are) {
  EXPECT_THAT(parsed("[job]\nfoo = 1"),
              Fails(Code::config, {"heat.ini:2", "[job] foo", "name", "on_storage_error", "tap"}));
  EXPECT_THAT(parsed("[levels]\nl5 = off"), Fails(Code::config, {"heat.ini:2", "[levels] l5", "l1", "l2", "l3", "l4"}));
  EXPECT_THAT(parsed("[foo]\n"), Fails(Code::config, {"heat.ini:1", "[foo]", "[job]", "[storage]", "[levels]", "[head]",
                                                      "[partner]", "[erasure]", "[topology]", "[restart]",
                                                      "[integrity]", "[recovery]", "[replay]", "[failures]", "[log]"}));
  EXPECT_THAT(parsed("foo = 1"), Fails(Code::config, {"heat.ini:1", "foo", "[section]"}));
  EXPECT_THAT(parsed("", {{"CAIRN_LEVELS_L5", "every 4"}}),
              Fails(Code::config, {"CAIRN_LEVELS_L5", "[levels]", "l1", "l2", "l3", "l4"}));
}

TEST(Config, a_key_that_is_set_twice_is_an_error_that_names_both_lines) {
  EXPECT_THAT(parsed("[levels]\nl2 = off\n[job]\n[levels]\nl2 = every 4"),
              Fails(Code::config, {"heat.ini:5", "[levels] l2", "line 2"}));
}

TEST(Config, lines_that_are_no_ini_are_errors_and_the_first_mistake_is_named) {
  EXPECT_THAT(parsed("[job]\nname heat"), Fails(Code::config, {"heat.ini:2", "[section]", "key = value"}));
  EXPECT_THAT(parsed("[job\nname = heat"), Fails(Code::config, {"heat.ini:1", "[section]", "key = value"}));
  EXPECT_THAT(parsed("[job]\nnam = x\nname heat"), Fails(Code::config, {"heat.ini:2", "[job] nam", "name"}));
  EXPECT_THAT(parsed("[job]\nname heat\nnam = x"), Fails(Code::config, {"heat.ini:2", "[section]", "key = value"}));
  EXPECT_THAT(parsed("[job] name = heat"), Fails(Code::config, {"heat.ini:1", "[job]"}));
  EXPECT_THAT(parsed("[storage]\nlocal = /" + std::string(300, 'x')), Fails(Code::config, {"heat.ini:2", "197"}));
  EXPECT_THAT(parsed(std::string("[job]\nname = a\0b", 16)), Fails(Code::config, {"heat.ini:2"}));
}

TEST(Config, environment_variables_override_the_file) {
  const auto config = config_of("[levels]\nl2 = every 4\n[job]\nname = a\n",
                                {{"CAIRN_LEVELS_L2", "every 9"}, {"CAIRN_RESTART_USE_FAILURE_TOPOLOGY", "off"}});
  EXPECT_EQ(config.levels.of(LevelId::partner).calls, 9U);
  EXPECT_FALSE(config.restart.use_failure_topology);
  EXPECT_EQ(config.job.name, "a");
}

TEST(Config, mistakes_in_environment_variables_name_the_variable) {
  EXPECT_THAT(parsed("", {{"CAIRN_LEVELS_L2", "evry 4"}}),
              Fails(Code::config, {"CAIRN_LEVELS_L2", "evry 4", "90s", "10min", "every N", "auto", "off"}));
  EXPECT_THAT(parsed("", {{"CAIRN_STORAGE_KEEP_LOCL", "2"}}),
              Fails(Code::config, {"CAIRN_STORAGE_KEEP_LOCL", "CAIRN_STORAGE_KEEP_LOCAL"}));
}

TEST(Config, variables_of_no_section_are_not_read_and_told_of_when_they_look_like_one) {
  const auto config = config_of("", {{"CAIRN_ROOT", "/opt/cairn"}, {"CAIRN_DIR", "/opt"}, {"CAIRN_LEVEL_L2", "off"}});
  EXPECT_EQ(config.levels.of(LevelId::partner), Config{}.levels.of(LevelId::partner));
  EXPECT_THAT(config.warnings,
              testing::ElementsAre("CAIRN_LEVEL_L2 is ignored: no such key; did you mean CAIRN_LEVELS_L2?"));
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
  EXPECT_THAT(read_config_source(scratch.path() + "/none.ini"), Fails(Code::config, {scratch.path() + "/none.ini"}));
  EXPECT_THAT(read_config_source(scratch.path()), Fails(Code::config, {scratch.path()}));
  const auto file = scratch.write("heat.ini", "[topology]\ndomains = " + scratch.path() + "/none.txt\n");
  EXPECT_THAT(read_config_source(file), Fails(Code::config, {"[topology] domains", scratch.path() + "/none.txt"}));
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
