#include "text.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

#include <fmt/format.h>

namespace ckpt_tool {
namespace {

std::string ranges_text(std::vector<std::uint32_t> numbers, std::string_view thing) {
  std::ranges::sort(numbers);
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  std::string text;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t end = i + 1;
    while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1) ++end;
    if (!text.empty()) text += ", ";
    text += end - i == 1 ? fmt::format("{}", numbers[i]) : fmt::format("{}-{}", numbers[i], numbers[end - 1]);
    i = end;
  }
  if (text.empty()) return text;
  return fmt::format("{}{} {}", thing, numbers.size() == 1 ? "" : "s", text);
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// A path in pieces: text and numbers by turns, beginning with text.
std::vector<std::string> pieces_of(const std::string& path) {
  std::vector<std::string> pieces(1);
  for (const char c : path) {
    const bool in_number = pieces.size() % 2 == 0;
    if (is_digit(c) != in_number) pieces.emplace_back();
    pieces.back() += c;
  }
  return pieces;
}

// The texts of the pieces alone, in a way that cannot be mistaken for another path's.
std::string shape_of(const std::vector<std::string>& pieces) {
  std::string shape;
  for (std::size_t i = 0; i < pieces.size(); i += 2) shape += pieces[i] + "0";
  return shape;
}

}  // namespace

std::string size_text(std::uint64_t bytes) {
  constexpr double kStep = 1024;
  constexpr std::array<std::string_view, 6> kUnits = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  if (bytes < 1024) return fmt::format("{} B", bytes);
  auto size = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (size >= kStep && unit + 1 < kUnits.size()) {
    size /= kStep;
    ++unit;
  }
  return fmt::format("{:.1f} {}", size, kUnits[unit]);
}

std::string age_text(double seconds) {
  constexpr double kMinute = 60;
  constexpr double kHour = 60 * kMinute;
  constexpr double kDay = 24 * kHour;
  if (seconds < 2 * kMinute) return fmt::format("{:.0f} s", seconds);
  if (seconds < 2 * kHour) return fmt::format("{:.0f} min", seconds / kMinute);
  if (seconds < 2 * kDay) return fmt::format("{:.0f} h", seconds / kHour);
  return fmt::format("{:.0f} d", seconds / kDay);
}

std::string percent_text(double share) {
  const double percent = 100 * share;
  if (!std::isfinite(percent)) return "-";
  const double size = std::abs(percent);
  return size < 0.1   ? fmt::format("{:.2f} %", percent)
         : size < 100 ? fmt::format("{:.1f} %", percent)
                      : fmt::format("{:.0f} %", percent);
}

std::string ranks_text(std::vector<cairn::Rank> ranks) {
  std::vector<std::uint32_t> numbers;
  for (const cairn::Rank rank : ranks) numbers.push_back(rank.value);
  return ranges_text(std::move(numbers), "rank");
}

std::string nodes_text(const std::vector<cairn::NodeId>& nodes) {
  std::vector<std::uint32_t> numbers;
  for (const cairn::NodeId node : nodes) numbers.push_back(node.value);
  return ranges_text(std::move(numbers), "node");
}

std::string level_text(cairn::LevelId level) { return fmt::format("L{}", static_cast<int>(level)); }

std::string count_text(std::uint64_t count, std::string_view thing) {
  return fmt::format("{} {}{}", count, thing, count == 1 ? "" : "s");
}

std::vector<PathGroup> fold_paths(const std::vector<std::string>& paths) {
  struct Folded {
    std::vector<std::string> pieces;
    std::vector<std::size_t> members;
  };
  std::vector<Folded> folded;
  std::map<std::string, std::size_t> by_shape;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const auto pieces = pieces_of(paths[i]);
    const auto [found, is_new] = by_shape.try_emplace(shape_of(pieces), folded.size());
    if (is_new) folded.push_back({pieces, {}});
    Folded& group = folded[found->second];
    group.members.push_back(i);
    for (std::size_t piece = 1; piece < pieces.size(); piece += 2)
      if (pieces[piece] != group.pieces[piece]) group.pieces[piece] = std::string(1, '*');
  }
  std::vector<PathGroup> groups;
  for (Folded& group : folded) {
    std::string pattern;
    for (const std::string& piece : group.pieces) pattern += piece;
    groups.push_back({std::move(pattern), std::move(group.members)});
  }
  return groups;
}

std::string table_text(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) line += fmt::format("{:<{}}  ", row[i], widths[i]);
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

}  // namespace ckpt_tool
