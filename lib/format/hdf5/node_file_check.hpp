// Whether HDF5 may open a node file. HDF5 may end the process if metadata is damaged, and its own checksums do not
// cover all of it. So everything in the file except the data has a digest in the manifest. The data has digests of its
// own, in the shards' frames, and is not read a second time for this check: a table in the file says where it lies.
//
// FORMAT.md has the table. Local: no call communicates.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/bytes.hpp"
#include "base/error.hpp"
#include "base/sha256.hpp"
#include "format/manifest.hpp"
#include "store/store.hpp"

namespace cairn {

// A stretch of a file. As a place of data it is a region or a frame, which HDF5 does not interpret.
struct Stretch {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

// The table as it lies in the file, from places in any order: sorted, with adjacent places merged.
[[nodiscard]] Buffer encode_places(std::vector<Stretch> places);
inline constexpr std::uint64_t kPlaceBytes = 16;

using ReadBytes = std::function<Status(std::uint64_t offset, MutableBytes into)>;
// The digest of a file's bytes outside the places of `table`. Calls `between` every few MiB of work.
[[nodiscard]] Result<Sha256> digest_outside(std::uint64_t file_bytes, Bytes table, const ReadBytes& read,
                                            const std::function<void()>& between);

// Checks that the file is `bytes` long and that its bytes outside the data are those that were written; else
// Code::corrupt, with what differs.
[[nodiscard]] Status check_node_file(const Store& global, const FileName& name, std::uint64_t bytes,
                                     const NodeFileCheck& expected, const std::function<void()>& between);

}  // namespace cairn
