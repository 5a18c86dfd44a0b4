#include "door/veloc/settings.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <filesystem>
#include <map>
#include <sstream>

#include <fmt/format.h>
#include <cairn/error.hpp>

namespace cairn::door {
namespace {

constexpr long kMostKept = 1000;    // of [storage] keep_local and keep_global
constexpr long kKeptInScratch = 2;  // by default
constexpr long kMostSeconds = 315360000;

using Keys = std::map<std::string, std::string>;

std::string without_blanks(const std::string& text) {
  const auto from = text.find_first_not_of(" \t\r");
  if (from == std::string::npos) return {};
  return text.substr(from, text.find_last_not_of(" \t\r") - from + 1);
}

std::string without_comment(const std::string& line) {
  const std::string text = without_blanks(line);
  if (text.starts_with(';') || text.starts_with('#')) return {};
  const auto comment = std::min(text.find(" ;"), text.find("\t;"));
  return without_blanks(text.substr(0, comment));
}

[[noreturn]] void refuse(const std::string& what) { throw Exception(ErrorKind::config, what); }

// Those before the first section.
Keys keys_of(const std::string& text, const std::string& file) {
  Keys keys;
  std::istringstream lines(text);
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    const std::string content = without_comment(line);
    if (content.empty()) continue;
    if (content.starts_with('[')) break;
    const auto sign = content.find_first_of("=:");
    if (sign == std::string::npos || sign == 0)
      refuse(fmt::format("{}:{}: \"{}\" is not \"key = value\"", file, number, content));
    keys[without_blanks(content.substr(0, sign))] = without_blanks(content.substr(sign + 1));
  }
  return keys;
}

std::string variable_of(const std::string& key) {
  std::string name = "VELOC_" + key;
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return name;
}

// Of the keys of one file, by the type that a key has.
class Reader {
 public:
  Reader(Keys keys, std::string file, const Variable& variable)
      : keys_(std::move(keys)), file_(std::move(file)), variable_(variable) {}

  // Empty: not there, or no value.
  [[nodiscard]] std::string text(const std::string& key) const {
    if (auto value = variable_(variable_of(key))) return without_blanks(*value);
    const auto known = keys_.find(key);
    return known == keys_.end() ? std::string() : known->second;
  }

  [[nodiscard]] std::string directory(const std::string& key) const {
    const std::string value = text(key);
    if (value.empty()) refuse(fmt::format("{}: the key {} is missing; write {} = DIRECTORY", file_, key, key));
    return std::filesystem::absolute(value).lexically_normal().string();
  }

  [[nodiscard]] std::optional<long> number(const std::string& key, long least, long most) const {
    const std::string value = text(key);
    if (value.empty()) return {};
    long result = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), result);
    if (error != std::errc() || end != value.data() + value.size() || result < least || result > most)
      refuse(fmt::format("{}: {} = {} is no whole number from {} to {}", file_, key, value, least, most));
    return result;
  }

  [[nodiscard]] bool is_on(const std::string& key) const {
    const std::string value = text(key);
    return value == "true" || value == "yes" || value == "on" || value == "1";
  }

  [[nodiscard]] bool is_sync() const {
    const std::string mode = text("mode");
    if (!mode.empty() && mode != "sync" && mode != "async")
      refuse(fmt::format("{}: mode = {} is unknown; write sync or async", file_, mode));
    return mode == "sync";
  }

 private:
  Keys keys_;
  std::string file_;
  const Variable& variable_;
};

std::string interval_text(long seconds) {
  if (seconds < 0) return "off";
  return seconds == 0 ? "every 1" : fmt::format("{}s", seconds);
}

}  // namespace

Settings parse_settings(const std::string& text, const std::string& file, const Variable& variable) {
  const Reader reader(keys_of(text, file), file, variable);
  Settings settings;
  settings.scratch = reader.directory("scratch");
  settings.persistent = reader.directory("persistent");
  settings.sync = reader.is_sync();
  settings.threaded = reader.is_on("threaded");
  settings.ec_interval = reader.number("ec_interval", -kMostSeconds, kMostSeconds);
  settings.persistent_interval = reader.number("persistent_interval", -kMostSeconds, kMostSeconds).value_or(0);
  settings.max_versions = reader.number("max_versions", 0, kMostKept).value_or(0);
  settings.scratch_versions = reader.number("scratch_versions", 0, kMostKept).value_or(0);
  return settings;
}

std::size_t most_versions(const Settings& settings) {
  const long kept = settings.max_versions == 0 ? kMostKept : settings.max_versions;
  return static_cast<std::size_t>(std::max({kept, settings.scratch_versions, kKeptInScratch}));
}

std::string ini_of(const Settings& settings, const std::string& job, const std::string& node_store) {
  std::string head = "auto";
  if (settings.sync)
    head = "inline";
  else if (settings.threaded)
    head = "thread";
  std::string levels = fmt::format("l1 = every 1\nl4 = {}\n", interval_text(settings.persistent_interval));
  if (settings.ec_interval) {
    levels += fmt::format("l3 = {}\n", interval_text(*settings.ec_interval));
    if (*settings.ec_interval < 0) levels += "l2 = off\n";
  }
  return fmt::format(
      "; Written by libcairn_veloc. For ckpt-tool: --config and the path of this file.\n"
      "[job]\nname = {}\non_storage_error = throw\n"
      "[storage]\nlocal = {}\nglobal = {}\nkeep_local = {}\nkeep_global = {}\n"
      "[levels]\n{}"
      "[head]\nmode = {}\n"
      "[restart]\nat_end = continue\nelastic = off\nstop_signal = off\n",
      job, node_store, settings.persistent, settings.scratch_versions == 0 ? kKeptInScratch : settings.scratch_versions,
      settings.max_versions == 0 ? kMostKept : settings.max_versions, levels, head);
}

}  // namespace cairn::door
