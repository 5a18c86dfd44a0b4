#include "config/config.hpp"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <ini.h>

#include "config/config_keys.hpp"

namespace cairn {
namespace {

// Where a key was set: "heat.ini:7: [levels] l2 = every 4" or "CAIRN_LEVELS_L2 = every 4".
struct Setting {
  std::string place;
  std::size_t line = 0;
};
using Settings = std::map<const ConfigKey*, Setting>;

// What to write for a key that the section does not have.
std::string instead_of(std::string_view section, std::string_view key) {
  const auto* near = near_key(section, key);
  if (near == nullptr) return keys_text(section);
  return fmt::format("did you mean {}{}?", near->section == section ? "" : fmt::format("[{}] ", near->section),
                     near->key);
}

// Hands a text to inih line by line, so that its lines can be counted: inih itself does not tell the handler
// where it is. The first mistake is kept; what follows it has no effect.
class IniText {
 public:
  IniText(std::string_view text, std::string file, Config& config)
      : rest_(text), file_(std::move(file)), config_(config) {}

  Status parse() {
    const int bad_line = ini_parse_stream(&IniText::read, this, &IniText::handle, this);
    if (bad_line > 0 && (!mistake_ || static_cast<std::size_t>(bad_line) < mistake_line_)) {
      return fail(Code::config,
                  fmt::format("{}:{}: not a line of INI; write [section] or key = value", file_, bad_line));
    }
    if (mistake_) return fail(Code::config, *mistake_);
    return {};
  }
  [[nodiscard]] Settings take_settings() { return std::move(settings_); }

 private:
  static char* read(char* out, int size, void* self) {
    return static_cast<IniText*>(self)->next_line(out, static_cast<std::size_t>(size));
  }
  static int handle(void* self, const char* section, const char* key, const char* value) {
    static_cast<IniText*>(self)->set(section, key, value);
    return 1;
  }

  // One line a call, as fgets gives them. Indentation is taken off: inih would read an indented line as going on with
  // the value above it. Comments go too, so that they may be of any length.
  char* next_line(char* out, std::size_t size) {
    if (rest_.empty()) return nullptr;
    const auto end = rest_.find('\n');
    auto line = rest_.substr(0, end);
    rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
    ++line_;
    line.remove_prefix(std::min(line.find_first_not_of(" \t\r"), line.size()));
    if (line.starts_with(';') || line.starts_with('#')) line = {};
    if (line.size() + 3 > size) {
      note(fmt::format("{}:{}: too long; write at most {} characters", file_, line_, size - 3));
      line = {};
    }
    if (line.find('\0') != std::string_view::npos) {
      note(fmt::format("{}:{}: contains a zero byte; write text only", file_, line_));
      line = {};
    }
    check_section(line);
    std::copy(line.begin(), line.end(), out);
    out[line.size()] = '\n';
    out[line.size() + 1] = '\0';
    return out;
  }

  // inih says nothing of a section without keys, nor of what follows the bracket.
  void check_section(std::string_view line) {
    const auto close = line.find(']');
    if (!line.starts_with('[') || close == std::string_view::npos) return;
    const auto section = line.substr(1, close - 1);
    if (!is_section(section)) {
      const auto near = near_section(section);
      note(fmt::format("{}:{}: [{}]: no such section; {}", file_, line_, section,
                       near ? fmt::format("did you mean [{}]?", *near) : sections_text()));
      return;
    }
    line.remove_prefix(close + 1);
    const auto more = line.find_first_not_of(" \t\r");
    if (more != std::string_view::npos && line[more] != ';' && line[more] != '#') {
      note(fmt::format("{}:{}: [{}]: text follows the section on its line; write each key on a line of its own", file_,
                       line_, section));
    }
  }

  void set(std::string_view section, std::string_view key, std::string_view value) {
    if (mistake_) return;
    if (section.empty()) {
      const auto* near = near_key("", key);
      note(fmt::format("{}:{}: {}: is not in a section; write {} above it", file_, line_, key,
                       near == nullptr ? "[section]" : fmt::format("[{}]", near->section)));
      return;
    }
    const auto* row = find_key(section, key);
    if (row == nullptr) {
      note(fmt::format("{}:{}: [{}] {}: no such key; {}", file_, line_, section, key, instead_of(section, key)));
      return;
    }
    const auto place = fmt::format("{}:{}: [{}] {} = {}", file_, line_, section, key, value);
    const auto [before, is_new] = settings_.try_emplace(row, Setting{place, line_});
    if (!is_new) {
      note(fmt::format("{}:{}: [{}] {}: is set twice, first in line {}; keep one", file_, line_, section, key,
                       before->second.line));
      return;
    }
    if (const auto mistake = row->set(config_, value); !mistake.empty()) note(place + ": " + mistake);
  }

  void note(std::string mistake) {
    if (mistake_) return;
    mistake_ = std::move(mistake);
    mistake_line_ = line_;
  }

  std::string_view rest_;
  std::string file_;
  Config& config_;
  std::size_t line_ = 0;
  Settings settings_;
  std::optional<std::string> mistake_;
  std::size_t mistake_line_ = 0;
};

Status apply_environment(const std::map<std::string, std::string>& environment, Config& config, Settings& settings) {
  for (const auto& [variable, value] : environment) {
    const auto* row = find_variable(variable);
    if (row == nullptr) {
      const auto* near = near_variable(variable);
      const auto meant = near == nullptr ? "" : fmt::format("did you mean {}?", near->variable());
      if (const auto section = section_of_variable(variable)) {
        return fail(Code::config,
                    fmt::format("{}: no such key; {}", variable, near == nullptr ? keys_text(*section) : meant));
      }
      if (near != nullptr) config.warnings.push_back(fmt::format("{} is ignored: no such key; {}", variable, meant));
      continue;
    }
    const auto place = fmt::format("{} = {}", variable, value);
    if (const auto mistake = row->set(config, value); !mistake.empty())
      return fail(Code::config, place + ": " + mistake);
    settings[row] = Setting{place, 0};
  }
  return {};
}

Status check_erasure(const Config& config, const Settings& settings) {
  const auto [group, parity] = config.erasure;
  if (parity < group) return {};
  if (const auto set = settings.find(find_key("erasure", "parity")); set != settings.end()) {
    return fail(Code::config,
                fmt::format("{}: must be less than group = {}; write 1 to {}", set->second.place, group, group - 1));
  }
  const auto set = settings.find(find_key("erasure", "group"));
  return fail(Code::config, fmt::format("{}: must be more than parity = {}; write {} or more, or a smaller parity",
                                        set->second.place, parity, parity + 1));
}

// With a key, everything that is restored must first be compared with its SHA-256, a rank's own shard too.
Status check_verify(const Config& config, const Settings& settings) {
  const auto set = settings.find(find_key("restart", "verify"));
  const bool weaker = set != settings.end() && config.restart.verify == Config::Restart::Verify::crc;
  if (config.integrity.key_file.empty() || !weaker) return {};
  return fail(Code::config,
              fmt::format("{}: [integrity] key_file requires SHA-256; write verify = sha256, or remove verify",
                          set->second.place));
}

// A fresh start gives up all versions.
Status check_version(const Config& config, const Settings& settings) {
  const bool chooses = config.restart.version != 0 || !config.restart.label.empty();
  if (!chooses || config.restart.mode != Config::Restart::Mode::fresh) return {};
  return fail(Code::config,
              fmt::format("{}: a fresh start restores no version", settings.at(find_key("restart", "version")).place),
              "remove [restart] version, or set [restart] mode = auto");
}

// What is to be compared with its SHA-256 must have one.
Status settle_digest(Config& config, const Settings& settings) {
  using Digest = Config::Integrity::Digest;
  const bool keyed = !config.integrity.key_file.empty();
  if (!keyed && config.restart.verify == Config::Restart::Verify::crc) return {};
  const auto set = settings.find(find_key("integrity", "digest"));
  if (set != settings.end() && config.integrity.digest == Digest::crc32c) {
    return fail(Code::config,
                fmt::format("{}: {} requires SHA-256; write digest = sha256, or remove digest", set->second.place,
                            keyed ? "[integrity] key_file" : "[restart] verify = sha256"));
  }
  config.integrity.digest = Digest::sha256;
  return {};
}

Status check_recovery(const Config& config) {
  using Mode = Config::Recovery::Mode;
  const auto& recovery = config.recovery;
  if (recovery.mode == Mode::restart && recovery.spares > 0) {
    return fail(Code::config,
                fmt::format("[recovery] spares = {}: mode = restart does not use spares", recovery.spares),
                "set mode = spares or respawn, or spares = 0");
  }
  if (recovery.rollback == Config::Recovery::Rollback::lost && recovery.mode == Mode::restart) {
    return fail(Code::config, "[recovery] rollback = lost: with [recovery] mode = restart, all ranks roll back",
                "set [recovery] mode = spares or respawn, or rollback = all");
  }
  if (recovery.rollback == Config::Recovery::Rollback::lost && !config.job.tap) {
    return fail(Code::config, "[recovery] rollback = lost: with [job] tap = off, Cairn cannot log messages",
                "set [job] tap = on, or [recovery] rollback = all");
  }
  if (config.replay.helpers > 1 && recovery.rollback != Config::Recovery::Rollback::lost) {
    return fail(Code::config,
                fmt::format("[replay] helpers = {}: with [recovery] rollback = all, no rank recomputes steps alone",
                            config.replay.helpers),
                "set [recovery] rollback = lost, or helpers = 1");
  }
  if (recovery.mode != Mode::restart && config.head.mode == HeadMode::thread) {
    return fail(Code::config, "[head] mode = thread: a job that repairs itself cannot have head threads",
                "set [head] mode = rank or inline, or [recovery] mode = restart");
  }
  return {};
}

// Spares wait inside MPI_Init, before the application could give them the function that computes a part.
Status check_world(const Config& config) {
  if (config.job.world != Config::Job::World::application || config.replay.helpers <= 1) return {};
  return fail(Code::config,
              fmt::format("[replay] helpers = {}: not possible with [job] world = application", config.replay.helpers),
              "set helpers = 1, or [job] world = as is");
}

}  // namespace

// In mode respawn, a new process replaces the lost one, and all spares can help it.
Status check_helpers(const Config& config) {
  const bool respawns = config.recovery.mode == Config::Recovery::Mode::respawn;
  const std::uint32_t most = std::max(1U, config.recovery.spares + (respawns ? 1 : 0));
  if (config.replay.helpers <= most) return {};
  return fail(Code::config,
              fmt::format("[replay] helpers = {}: with [recovery] spares = {}, at most {} can recompute steps",
                          config.replay.helpers, config.recovery.spares, most),
              "set fewer helpers, or start more spares");
}

LevelSet Config::Levels::wanted() const {
  LevelSet wanted;
  for (const auto level : kAllLevels) {
    if (of(level).kind != Interval::Kind::off) wanted.add(level);
  }
  return wanted;
}

Result<Config> parse_config(const std::string& text, const std::string& file,
                            const std::map<std::string, std::string>& environment) {
  Config config;
  IniText ini(text, file, config);
  if (auto parsed = ini.parse(); !parsed) return fail(parsed.error());
  auto settings = ini.take_settings();
  if (auto applied = apply_environment(environment, config, settings); !applied) return fail(applied.error());
  if (auto checked = check_erasure(config, settings); !checked) return fail(checked.error());
  if (auto checked = check_verify(config, settings); !checked) return fail(checked.error());
  if (auto settled = settle_digest(config, settings); !settled) return fail(settled.error());
  if (auto checked = check_version(config, settings); !checked) return fail(checked.error());
  if (auto checked = check_recovery(config); !checked) return fail(checked.error());
  if (auto checked = check_world(config); !checked) return fail(checked.error());
  return config;
}

}  // namespace cairn
