// Checks for tools that inspect a snapshot in the global store, in addition to verify_node_shard(): whether the master
// file leads to the node files, and which regions a node file has. Local; reads only.
#pragma once

#include <vector>

#include "base/error.hpp"
#include "base/ids.hpp"
#include "format/region.hpp"
#include "store/store.hpp"

namespace cairn {

// Opens the master file of `dir` and everything in it: checks that it belongs to the snapshot `identity`, that every
// rank's link leads to that rank in the node file of node_of_rank[rank], and that arrays consist of node files only.
// Does not read the contents of the node files.
[[nodiscard]] Status verify_master_file(const Store& global, const DirName& dir, const Identity& identity,
                                        const std::vector<NodeId>& node_of_rank);

// Whether a file is there and begins as every HDF5 file does.
[[nodiscard]] bool begins_as_hdf5(const Store& store, const FileName& name);

// A rank's regions, from the table in its node file.
[[nodiscard]] Result<std::vector<RegionInfo>> read_node_regions(const Store& global, const FileName& node_file,
                                                                Rank rank);

}  // namespace cairn
