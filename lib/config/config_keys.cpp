#include "config/config_keys.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/label.hpp"
#include "base/spelling.hpp"
#include "topology/placement.hpp"

namespace cairn {
namespace {

using values::Mistake;
using Text = std::string_view;

constexpr std::uint32_t kMostKept = 1000;
constexpr std::uint32_t kMostSpares = 1U << 20U;
constexpr std::uint32_t kMostNodes = 1U << 20U;
constexpr std::uint32_t kMostFanout = 1024;
constexpr std::uint32_t kMostThreshold = 1000;
// A rank's messages for another one are shipped as one message of MPI, which is shorter than 2 GiB.
constexpr std::uint64_t kLeastReplayMemory = kMiB;
constexpr std::uint64_t kMostReplayMemory = 1024 * kMiB;
constexpr std::uint64_t kMostReplaySpill = 1024 * 1024 * kMiB;

Mistake set_level(Config& config, LevelId level, Text value) {
  Interval& interval = config.levels.at[static_cast<int>(level) - 1];
  auto mistake = values::interval(value, interval);
  config.levels.insisted.add(level);
  // With auto, Cairn also decides whether the nodes can carry the level.
  if (interval.kind == Interval::Kind::automatic) config.levels.insisted.remove(level);
  return mistake;
}

Mistake set_on_storage_error(Config& config, Text value) {
  using OnStorageError = Config::Job::OnStorageError;
  constexpr std::pair<Text, OnStorageError> kWords[] = {{"continue", OnStorageError::continue_},
                                                        {"throw", OnStorageError::throw_}};
  return values::word(value, kWords, config.job.on_storage_error);
}

Mistake set_world(Config& config, Text value) {
  using World = Config::Job::World;
  constexpr std::pair<Text, std::optional<World>> kWords[] = {
      {"auto", std::nullopt}, {"application", World::application}, {"as is", World::as_is}};
  return values::word(value, kWords, config.job.world);
}

Mistake set_access(Config& config, Text value) {
  constexpr std::pair<Text, Readers> kWords[] = {{"owner", Readers::owner}, {"group", Readers::group}};
  return values::word(value, kWords, config.storage.access);
}

Mistake set_head_mode(Config& config, Text value) {
  constexpr std::pair<Text, std::optional<HeadMode>> kWords[] = {
      {"auto", std::nullopt}, {"rank", HeadMode::rank}, {"thread", HeadMode::thread}, {"inline", HeadMode::inline_}};
  return values::word(value, kWords, config.head.mode);
}

Mistake set_restart_mode(Config& config, Text value) {
  using Mode = Config::Restart::Mode;
  constexpr std::pair<Text, Mode> kWords[] = {
      {"auto", Mode::automatic}, {"fresh", Mode::fresh}, {"required", Mode::required}};
  return values::word(value, kWords, config.restart.mode);
}

Mistake set_restart_version(Config& config, Text value) {
  constexpr Text kAgain = " again";
  constexpr std::uint32_t kHighest = 4'000'000'000;
  Config::Restart& restart = config.restart;
  restart.version_again = value.ends_with(kAgain);
  if (restart.version_again) value.remove_suffix(kAgain.size());
  restart.version = 0;
  restart.label.clear();
  if (value == "newest" && !restart.version_again) return {};
  if (values::number(value, 1, kHighest, restart.version).empty()) return {};
  restart.version = 0;
  if (!check_label(value))
    return "neither a version nor a label; write newest, a number such as 5, a label, or one of both with again, "
           "such as \"5 again\"";
  restart.label = value;
  return {};
}

Mistake set_at_end(Config& config, Text value) {
  using AtEnd = Config::Restart::AtEnd;
  constexpr std::pair<Text, AtEnd> kWords[] = {{"finished", AtEnd::finished}, {"continue", AtEnd::continue_}};
  return values::word(value, kWords, config.restart.at_end);
}

Mistake set_verify(Config& config, Text value) {
  using Verify = Config::Restart::Verify;
  constexpr std::pair<Text, Verify> kWords[] = {{"crc", Verify::crc}, {"sha256", Verify::sha256}};
  return values::word(value, kWords, config.restart.verify);
}

// Two of all signals: launchers pass them on to the ranks, and the system gives them no meaning.
Mistake set_stop_signal(Config& config, Text value) {
  constexpr std::pair<Text, std::optional<int>> kWords[] = {
      {"on", SIGUSR1}, {"off", std::nullopt}, {"SIGUSR2", SIGUSR2}};
  return values::word(value, kWords, config.restart.stop_signal);
}

Mistake set_digest(Config& config, Text value) {
  using Digest = Config::Integrity::Digest;
  constexpr std::pair<Text, Digest> kWords[] = {{"crc32c", Digest::crc32c}, {"sha256", Digest::sha256}};
  return values::word(value, kWords, config.integrity.digest);
}

Mistake set_recovery_mode(Config& config, Text value) {
  using Mode = Config::Recovery::Mode;
  constexpr std::pair<Text, Mode> kWords[] = {
      {"restart", Mode::restart}, {"respawn", Mode::respawn}, {"spares", Mode::spares}};
  return values::word(value, kWords, config.recovery.mode);
}

Mistake set_when_spent(Config& config, Text value) {
  using WhenSpent = Config::Recovery::WhenSpent;
  constexpr std::pair<Text, WhenSpent> kWords[] = {{"restart", WhenSpent::restart}, {"respawn", WhenSpent::respawn}};
  return values::word(value, kWords, config.recovery.when_spent);
}

Mistake set_rollback(Config& config, Text value) {
  using Rollback = Config::Recovery::Rollback;
  constexpr std::pair<Text, Rollback> kWords[] = {{"all", Rollback::all}, {"lost", Rollback::lost}};
  return values::word(value, kWords, config.recovery.rollback);
}

Mistake set_replay_spill(Config& config, Text value) {
  config.replay.spill = 0;
  if (value == "off") return {};
  std::uint64_t bytes = 0;
  if (!values::bytes(value, kLeastReplayMemory, kMostReplaySpill, bytes).empty())
    return "not a size from 1MiB to 1TiB; write off, 512MiB or 4GiB";
  config.replay.spill = bytes;
  return {};
}

Mistake set_replay_survives(Config& config, Text value) {
  using Survives = Config::Replay::Survives;
  constexpr std::pair<Text, Survives> kWords[] = {{"process", Survives::process}, {"node", Survives::node}};
  return values::word(value, kWords, config.replay.survives);
}

Mistake set_failures_nodes(Config& config, Text value) {
  config.failures.nodes = 0;
  if (value == "any") return {};
  const Mistake mistake = values::number(value, 1, kMostNodes, config.failures.nodes);
  return mistake.empty() ? mistake : mistake + ", or any";
}

Mistake set_limit_or_off(Text value, WaitLimit& limit) {
  limit = kForever;
  if (value == "off") return {};
  std::chrono::milliseconds time{};
  if (!values::duration(value, time).empty()) return "not a time; write off, 500ms, 90s or 10min";
  limit = time;
  return {};
}

Mistake set_act(Config& config, Text value) {
  using localize::Act;
  constexpr std::pair<Text, Act> kWords[] = {
      {"tell", Act::tell}, {"snapshot", Act::snapshot}, {"avoid", Act::avoid}, {"replace", Act::replace}};
  return values::word(value, kWords, config.localize.act);
}

constexpr ConfigKey kKeys[] = {
    {"job", "name", [](Config& c, Text v) { return values::job_name(v, c.job.name); }},
    {"job", "on_storage_error", set_on_storage_error},
    {"job", "tap", [](Config& c, Text v) { return values::on_off(v, c.job.tap); }},
    {"job", "world", set_world},
    {"storage", "local", [](Config& c, Text v) { return values::path(with_user_number(v), c.storage.local); }},
    {"storage", "global", [](Config& c, Text v) { return values::path(v, c.storage.global); }},
    {"storage", "keep_local", [](Config& c, Text v) { return values::number(v, 1, kMostKept, c.storage.keep_local); }},
    {"storage", "keep_global",
     [](Config& c, Text v) { return values::number(v, 1, kMostKept, c.storage.keep_global); }},
    {"storage", "access", set_access},
    {"levels", "l1", [](Config& c, Text v) { return set_level(c, LevelId::local, v); }},
    {"levels", "l2", [](Config& c, Text v) { return set_level(c, LevelId::partner, v); }},
    {"levels", "l3", [](Config& c, Text v) { return set_level(c, LevelId::erasure, v); }},
    {"levels", "l4", [](Config& c, Text v) { return set_level(c, LevelId::global, v); }},
    {"head", "mode", set_head_mode},
    {"head", "threads", [](Config& c, Text v) { return values::threads(v, c.head.threads); }},
    {"head", "wait_limit", [](Config& c, Text v) { return values::duration(v, c.head.wait_limit); }},
    {"partner", "copies", [](Config& c, Text v) { return values::number(v, 1, kMaxCopies, c.partner.copies); }},
    {"partner", "rotation", [](Config& c, Text v) { return values::number(v, 1, kMaxRotation, c.partner.rotation); }},
    {"erasure", "group", [](Config& c, Text v) { return values::number(v, 2, kMaxGroup, c.erasure.group); }},
    {"erasure", "parity", [](Config& c, Text v) { return values::number(v, 1, kMaxGroup - 1, c.erasure.parity); }},
    {"topology", "node_size", [](Config& c, Text v) { return values::node_sizes(v, c.topology.node_size); }},
    {"topology", "domains", [](Config& c, Text v) { return c.topology.domains = v, Mistake(); }},
    {"restart", "mode", set_restart_mode},
    {"restart", "version", set_restart_version},
    {"restart", "at_end", set_at_end},
    {"restart", "elastic", [](Config& c, Text v) { return values::on_off(v, c.restart.elastic); }},
    {"restart", "use_failure_topology",
     [](Config& c, Text v) { return values::on_off(v, c.restart.use_failure_topology); }},
    {"restart", "verify", set_verify},
    {"restart", "stop_signal", set_stop_signal},
    {"integrity", "digest", set_digest},
    {"integrity", "key_file", [](Config& c, Text v) { return c.integrity.key_file = v, Mistake(); }},
    {"recovery", "mode", set_recovery_mode},
    {"recovery", "spares", [](Config& c, Text v) { return values::number(v, 0, kMostSpares, c.recovery.spares); }},
    {"recovery", "when_spent", set_when_spent},
    {"recovery", "hang_timeout", [](Config& c, Text v) { return set_limit_or_off(v, c.recovery.hang_timeout); }},
    {"recovery", "straggler_limit", [](Config& c, Text v) { return set_limit_or_off(v, c.recovery.straggler_limit); }},
    {"recovery", "limit", [](Config& c, Text v) { return values::duration(v, c.recovery.limit); }},
    {"recovery", "rollback", set_rollback},
    {"replay", "memory",
     [](Config& c, Text v) { return values::bytes(v, kLeastReplayMemory, kMostReplayMemory, c.replay.memory); }},
    {"replay", "spill", set_replay_spill},
    {"replay", "survives", set_replay_survives},
    {"replay", "helpers", [](Config& c, Text v) { return values::number(v, 1, kMostSpares, c.replay.helpers); }},
    {"failures", "mtbf", [](Config& c, Text v) { return values::durations(v, c.failures.mtbf); }},
    {"failures", "nodes", set_failures_nodes},
    {"localize", "mode", [](Config& c, Text v) { return values::on_off(v, c.localize.on); }},
    {"localize", "fanout", [](Config& c, Text v) { return values::number(v, 1, kMostFanout, c.localize.fanout); }},
    {"localize", "threshold",
     [](Config& c, Text v) { return values::number(v, 1, kMostThreshold, c.localize.threshold); }},
    {"localize", "window", [](Config& c, Text v) { return values::duration(v, c.localize.window); }},
    {"localize", "stuck_after", [](Config& c, Text v) { return set_limit_or_off(v, c.localize.stuck_after); }},
    {"localize", "silent_after", [](Config& c, Text v) { return set_limit_or_off(v, c.localize.silent_after); }},
    {"localize", "act", set_act},
    {"localize", "rules", [](Config& c, Text v) { return c.localize.rules = v, Mistake(); }},
    {"log", "level", [](Config& c, Text v) { return values::log_level(v, c.log.level); }},
    {"log", "trace", [](Config& c, Text v) { return c.log.trace = v, Mistake(); }},
};

std::string upper_case(Text word) {
  std::string upper(word);
  std::ranges::transform(upper, upper.begin(),
                         [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
  return upper;
}

// The beginning of the names of a section's variables: "CAIRN_LEVELS_".
std::string variables_of(Text section) { return "CAIRN_" + upper_case(section) + "_"; }

// The row of the least distance; nullptr: no row has one.
template <class Distance>
const ConfigKey* nearest(Distance distance) {
  const ConfigKey* found = nullptr;
  std::size_t least = 0;
  for (const ConfigKey& row : kKeys) {
    const std::optional<std::size_t> to_row = distance(row);
    if (!to_row || (found != nullptr && *to_row >= least)) continue;
    found = &row;
    least = *to_row;
  }
  return found;
}

}  // namespace

std::string ConfigKey::variable() const { return variables_of(section) + upper_case(key); }

std::span<const ConfigKey> config_keys() { return kKeys; }

const ConfigKey* find_key(std::string_view section, std::string_view key) {
  const auto* found = std::find_if(std::begin(kKeys), std::end(kKeys),
                                   [&](const ConfigKey& row) { return row.section == section && row.key == key; });
  return found == std::end(kKeys) ? nullptr : found;
}

const ConfigKey* find_variable(std::string_view variable) {
  const auto* found = std::find_if(std::begin(kKeys), std::end(kKeys),
                                   [&](const ConfigKey& row) { return row.variable() == variable; });
  return found == std::end(kKeys) ? nullptr : found;
}

bool is_section(std::string_view section) {
  return std::any_of(std::begin(kKeys), std::end(kKeys), [&](const ConfigKey& row) { return row.section == section; });
}

std::optional<std::string_view> section_of_variable(std::string_view variable) {
  const auto* found = std::find_if(std::begin(kKeys), std::end(kKeys), [&](const ConfigKey& row) {
    return variable.starts_with(variables_of(row.section));
  });
  return found == std::end(kKeys) ? std::nullopt : std::optional(found->section);
}

const ConfigKey* near_key(std::string_view section, std::string_view key) {
  return nearest([&](const ConfigKey& row) -> std::optional<std::size_t> {
    const auto edits = near_distance(row.key, key);
    if (!edits || row.section == section) return edits;
    return *edits < kFewEdits ? std::optional(*edits + 1) : std::nullopt;
  });
}

const ConfigKey* near_variable(std::string_view variable) {
  const auto section = section_of_variable(variable);
  if (!section) return nearest([&](const ConfigKey& row) { return near_distance(row.variable(), variable); });
  std::string key(variable.substr(variables_of(*section).size()));
  std::ranges::transform(key, key.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return near_key(*section, key);
}

std::optional<std::string_view> near_section(std::string_view section) {
  const auto* found = nearest([&](const ConfigKey& row) { return near_distance(row.section, section); });
  return found == nullptr ? std::nullopt : std::optional(found->section);
}

std::string keys_text(std::string_view section) {
  std::string text;
  for (const ConfigKey& row : kKeys) {
    if (row.section != section) continue;
    text += (text.empty() ? "" : ", ");
    text += row.key;
  }
  return fmt::format("the keys of [{}] are {}", section, text);
}

std::string sections_text() {
  std::string text;
  std::string_view last;
  for (const ConfigKey& row : kKeys) {
    if (row.section != last) text += fmt::format("{}[{}]", text.empty() ? "" : ", ", row.section);
    last = row.section;
  }
  return "the sections are " + text;
}

}  // namespace cairn
