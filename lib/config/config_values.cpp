#include "config/config_values.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

#include <fmt/format.h>

namespace cairn::values {
namespace {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r";
  const auto from = text.find_first_not_of(kBlank);
  if (from == std::string_view::npos) return {};
  return text.substr(from, text.find_last_not_of(kBlank) - from + 1);
}

std::optional<std::uint64_t> whole_number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> parts;
  while (true) {
    const auto comma = text.find(',');
    parts.push_back(trimmed(text.substr(0, comma)));
    if (comma == std::string_view::npos) return parts;
    text.remove_prefix(comma + 1);
  }
}

std::optional<std::chrono::milliseconds> parse_duration(std::string_view text) {
  constexpr std::pair<std::string_view, std::chrono::milliseconds> kUnits[] = {
      {"ms", std::chrono::milliseconds(1)}, {"s", std::chrono::seconds(1)}, {"min", std::chrono::minutes(1)},
      {"h", std::chrono::hours(1)},         {"d", std::chrono::hours(24)},
  };
  const auto digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const auto count = whole_number(text.substr(0, digits));
  const auto unit_text = trimmed(text.substr(digits));
  for (const auto& [name, unit] : kUnits) {
    if (unit_text != name || !count) continue;
    if (*count == 0 || *count > static_cast<std::uint64_t>(kLongestTime / unit)) return std::nullopt;
    return unit * static_cast<std::int64_t>(*count);
  }
  return std::nullopt;
}

}  // namespace

Mistake number(std::string_view text, std::uint32_t least, std::uint32_t most, std::uint32_t& out) {
  const auto value = whole_number(text);
  if (!value) return fmt::format("not a whole number; write {} to {}", least, most);
  if (*value < least || *value > most) return fmt::format("out of range; write {} to {}", least, most);
  out = static_cast<std::uint32_t>(*value);
  return {};
}

Mistake bytes(std::string_view text, std::uint64_t least, std::uint64_t most, std::uint64_t& out) {
  constexpr std::pair<std::string_view, std::uint64_t> kUnits[] = {{"KiB", kKiB}, {"MiB", kMiB}, {"GiB", 1024 * kMiB}};
  for (const auto& [unit, size] : kUnits) {
    if (!text.ends_with(unit)) continue;
    const auto count = whole_number(trimmed(text.substr(0, text.size() - unit.size())));
    if (!count || *count > most / size || *count * size < least) break;
    out = *count * size;
    return {};
  }
  return fmt::format("not a size from {} to {} MiB; write 256MiB", least / kMiB, most / kMiB);
}

Mistake duration(std::string_view text, std::chrono::milliseconds& out) {
  const auto value = parse_duration(text);
  if (!value) return "not a time; write 500ms, 90s, 10min, 12h or 3d";
  out = *value;
  return {};
}

Mistake interval(std::string_view text, Interval& out) {
  using Kind = Interval::Kind;
  constexpr std::string_view kEvery = "every ";
  out = Interval{};
  if (text == "off") return {};
  if (text == "auto") {
    out.kind = Kind::automatic;
    return {};
  }
  if (const auto time = parse_duration(text)) {
    out.kind = Kind::time;
    out.time = *time;
    return {};
  }
  if (text.starts_with(kEvery)) {
    const auto calls = whole_number(trimmed(text.substr(kEvery.size())));
    if (calls && *calls > 0) {
      out.kind = Kind::calls;
      out.calls = *calls;
      return {};
    }
  }
  return "not an interval; write every N, 90s, 10min, auto or off";
}

Mistake on_off(std::string_view text, bool& out) {
  constexpr std::pair<std::string_view, bool> kWords[] = {{"on", true}, {"off", false}};
  return word(text, kWords, out);
}

Mistake job_name(std::string_view text, std::string& out) {
  constexpr std::size_t kLongestName = 128;
  const auto is_plain = [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
           c == '-';
  };
  if (text.empty() || text.size() > kLongestName || text.front() == '.' ||
      !std::all_of(text.begin(), text.end(), is_plain)) {
    return fmt::format("not a job name; write up to {} of A-Z a-z 0-9 . _ -, not starting with a dot", kLongestName);
  }
  out = text;
  return {};
}

Mistake path(std::string_view text, std::string& out) {
  if (text.empty()) return "empty; write the path of a directory";
  // A shell would replace these, and the directory would get such a name here.
  if (text.starts_with('~')) return "Cairn does not replace ~; write the whole path";
  if (text.find('$') != std::string_view::npos)
    return "Cairn replaces no variables; write the whole path, or set it in the environment, where the shell replaces "
           "them";
  if (text.find_first_of("\"'") != std::string_view::npos) return "contains a quote; write the path without quotes";
  out = text;
  return {};
}

Mistake threads(std::string_view text, std::uint32_t& out) {
  constexpr std::uint32_t kMostThreads = 1024;
  out = 0;
  if (text == "auto") return {};
  if (number(text, 1, kMostThreads, out).empty()) return {};
  return fmt::format("not a number of threads; write auto or 1 to {}", kMostThreads);
}

Mistake node_sizes(std::string_view text, std::vector<std::uint32_t>& out) {
  constexpr std::uint32_t kMostRanks = 1U << 24U;
  out.clear();
  if (text == "0") return {};
  if (text.starts_with('(') && text.ends_with(')')) text = text.substr(1, text.size() - 2);
  for (const auto part : split(text)) {
    std::uint32_t size = 0;
    if (!number(part, 1, kMostRanks, size).empty()) {
      return "not a list of node sizes; write 0 for real hosts, one number for all nodes, or one per node: 3,2,2";
    }
    out.push_back(size);
  }
  return {};
}

Mistake durations(std::string_view text, std::vector<std::chrono::milliseconds>& out) {
  out.clear();
  for (const auto part : split(text)) {
    const auto value = parse_duration(part);
    if (value) out.push_back(*value);
    if (!value || out.size() > kLevels) break;
  }
  if (out.size() != kLevels || split(text).size() != kLevels)
    return "not a list of four times; write one per level: 12h, 3d, 10d, 60d";
  return {};
}

Mistake log_level(std::string_view text, LogLevel& out) {
  constexpr std::pair<std::string_view, LogLevel> kWords[] = {{"error", LogLevel::error},
                                                              {"warning", LogLevel::warning},
                                                              {"info", LogLevel::info},
                                                              {"debug", LogLevel::debug},
                                                              {"off", LogLevel::off}};
  return word(text, kWords, out);
}

}  // namespace cairn::values
