// How numbers and lists look to a person. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/duration_text.hpp"
#include "base/ids.hpp"

namespace ckpt_tool {

// "1.5 MiB"
[[nodiscard]] std::string size_text(std::uint64_t bytes);
// "42 s", "3 min", "5 h", "2 d"
[[nodiscard]] std::string age_text(double seconds);
using cairn::duration_text;
// "5.2 %" of 0.052: two digits at least.
[[nodiscard]] std::string percent_text(double share);
// "rank 3", "ranks 0-7, 9"; "" of none.
[[nodiscard]] std::string ranks_text(std::vector<cairn::Rank> ranks);
// "node 3", "nodes 0-2"
[[nodiscard]] std::string nodes_text(const std::vector<cairn::NodeId>& nodes);
[[nodiscard]] std::string level_text(cairn::LevelId level);
// "1 file", "3 files"
[[nodiscard]] std::string count_text(std::uint64_t count, std::string_view thing);

// Paths that differ in their numbers only, and the pattern of the shell that matches them: "local/node*/heat".
struct PathGroup {
  std::string pattern;               // of one path: the path itself
  std::vector<std::size_t> members;  // positions in the list
};
// In the order of their first members.
[[nodiscard]] std::vector<PathGroup> fold_paths(const std::vector<std::string>& paths);

// Columns as wide as their widest cell; the first row is the head.
[[nodiscard]] std::string table_text(const std::vector<std::vector<std::string>>& rows);

}  // namespace ckpt_tool
