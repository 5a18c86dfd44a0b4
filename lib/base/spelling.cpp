#include "base/spelling.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

namespace cairn {
namespace {

// A name has at least so many letters for each edit.
constexpr std::size_t kLettersPerEdit = 3;

// Insertions, deletions and substitutions of one character, and exchanges of two that are neighbours.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> rows(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  std::iota(rows[0].begin(), rows[0].end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    rows[i][0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const auto substituted = rows[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      rows[i][j] = std::min({rows[i - 1][j] + 1, rows[i][j - 1] + 1, substituted});
      const bool exchanged = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (exchanged) rows[i][j] = std::min(rows[i][j], rows[i - 2][j - 2] + 1);
    }
  }
  return rows[a.size()][b.size()];
}

}  // namespace

std::optional<std::size_t> near_distance(std::string_view a, std::string_view b) {
  const std::size_t longer = std::max(a.size(), b.size());
  const std::size_t most = std::min(kFewEdits, longer / kLettersPerEdit);
  if (longer - std::min(a.size(), b.size()) > most) return std::nullopt;
  const std::size_t edits = edit_distance(a, b);
  return edits > most ? std::nullopt : std::optional(edits);
}

}  // namespace cairn
