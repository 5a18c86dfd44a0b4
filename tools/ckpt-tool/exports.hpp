// What an export writes: whole arrays where the regions of all ranks make up one, else the region of each rank. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/ids.hpp"
#include "format/joined_regions.hpp"
#include "format/region.hpp"

namespace ckpt_tool {

struct ExportPart {
  cairn::Rank rank;
  cairn::RegionInfo info;
  cairn::JoinedRegions::Part there = {};  // what it has of the array
  [[nodiscard]] std::uint64_t elements() const;
};

// One array of the output.
struct Export {
  std::string name;        // of the region
  bool whole = false;      // of all ranks; else of its only one
  cairn::RegionInfo info;  // with the array's shape
  std::vector<ExportPart> parts;
  bool has_gaps = false;  // no part has some of its elements

  // "/arrays/plate", "/rank000007/plate" in HDF5; "plate.npy", "plate.rank000007.npy" in a directory.
  [[nodiscard]] std::string path_in_hdf5() const;
  [[nodiscard]] std::string file_in_directory() const;
};

// By name.
using RegionsByName = std::map<std::string, std::vector<ExportPart>>;

enum class JoinRanks : std::uint8_t {
  all,       // all ranks are there
  by_place,  // some ranks are missing, so that only places tell where the others' elements belong
  none,      // one rank was asked for
};

// `names`: those that are wanted; empty: all. not_found: there is no such region; the hint lists those that there are.
[[nodiscard]] cairn::Result<std::vector<Export>> plan_exports(const RegionsByName& regions,
                                                              const std::vector<std::string>& names, JoinRanks how);

}  // namespace ckpt_tool
