// What `ckpt-tool inspect` has found out about a snapshot, and how a person is shown it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "format/region.hpp"
#include "inspect/survey.hpp"
#include "stores.hpp"

namespace ckpt_tool {

// A file of the snapshot, wherever it is.
struct Located {
  cairn::LevelId level;
  std::string path;
  std::vector<cairn::Rank> ranks;
  std::uint64_t bytes;
};

// Ranks with the same regions, or whose regions cannot be read, and why.
struct RegionGroup {
  std::vector<cairn::RegionInfo> regions;
  std::string why_not;
  std::vector<cairn::Rank> ranks;
};

struct Inspection {
  const OpenStores& opened;
  const cairn::Survey& survey;
  const cairn::SnapshotView& snapshot;
  std::vector<Located> files;
  std::vector<RegionGroup> regions;
  std::map<cairn::NodeId, cairn::Status> node_files = {};  // those looked at: whether HDF5 may open them
};

// The store that stands for a node, and what its manifest says under the snapshot's layout.
struct Home {
  std::string where;
  const cairn::Holding* holding = nullptr;
};
[[nodiscard]] Home home_of(const Inspection& of, cairn::NodeId node);
// The placement's turn, which all nodes share; nothing before L2.
[[nodiscard]] std::optional<std::uint64_t> turn_of(const Inspection& of);

// Fills in `regions`.
void collect_regions(Inspection& of);

// What is alike over ranks, nodes or files is one line; with `details` each of them has a line of its own.
[[nodiscard]] std::string inspection_text(const Inspection& of, bool details);

}  // namespace ckpt_tool
