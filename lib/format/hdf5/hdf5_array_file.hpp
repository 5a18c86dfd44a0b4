// An HDF5 file of arrays that lie beside no store, for other programs: its datasets are contiguous and without bytes at
// first, so that whoever makes it can write these at their places, without HDF5. Local.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/ids.hpp"
#include "format/region.hpp"

namespace cairn {

struct ArrayDataset {
  std::string path;  // "/arrays/plate"; its groups are made
  RegionInfo info;   // type and shape
};

// Makes the file, or empties it. Returns where the bytes of each dataset begin; 0: it has none. Attributes of /cairn
// name the snapshot, as in files of L4.
[[nodiscard]] Result<std::vector<std::uint64_t>> create_array_file(const std::string& path,
                                                                   const std::vector<ArrayDataset>& datasets,
                                                                   const Identity& snapshot);

}  // namespace cairn
