// What somebody who looks at a snapshot in the global store wants to know beyond verify_node_shard(): whether the
// master file leads to the node files, and which regions a node file has. Local; reads only.
#pragma once

#include <vector>

#include "base/error.hpp"
#include "base/ids.hpp"
#include "format/region.hpp"
#include "store/store.hpp"

namespace cairn {

// Opens the master file of `dir` and everything in it: that it is of the snapshot `identity`, that every rank's link
// leads to that rank in the node file of node_of_rank[rank], and that arrays are made of node files only. What is in
// the node files is not read.
[[nodiscard]] Status verify_master_file(const Store& global, const DirName& dir, const Identity& identity,
                                        const std::vector<NodeId>& node_of_rank);

// Whether a file is there and begins as every HDF5 file does.
[[nodiscard]] bool begins_as_hdf5(const Store& store, const FileName& name);

// A rank's regions, by the table in its node file.
[[nodiscard]] Result<std::vector<RegionInfo>> read_node_regions(const Store& global, const FileName& node_file,
                                                                Rank rank);

}  // namespace cairn
