// Writes an export: a file of HDF5, one of numpy's, or a directory of these.
#pragma once

#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/ids.hpp"
#include "exports.hpp"
#include "inspect/snapshot_reader.hpp"

namespace ckpt_tool {

// `path`: FILE.h5, FILE.npy, which takes one array only, or else a directory. It appears once it is whole. An error:
// something of that name exists, and stays as it is.
[[nodiscard]] cairn::Status write_exports(cairn::SnapshotReader& reader, const std::vector<Export>& exports,
                                          const std::string& path, const cairn::Identity& snapshot);

}  // namespace ckpt_tool
