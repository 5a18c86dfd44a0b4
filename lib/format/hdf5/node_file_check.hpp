// Whether HDF5 may open a node file. It may end the process on metadata that is not what it wrote, and its own
// checksums do not cover all of it. So everything in the file but the data has a digest in the manifest. The data has
// its own, in shards' frames, and is not read a second time for this: a table in the file says where it lies.
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

// A stretch of a file. As the place of data: a region or a frame, of which HDF5 makes nothing.
struct Stretch {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

// The table as it lies in the file, from places in any order: sorted, and what touches is one.
[[nodiscard]] Buffer encode_places(std::vector<Stretch> places);
inline constexpr std::uint64_t kPlaceBytes = 16;

using ReadBytes = std::function<Status(std::uint64_t offset, MutableBytes into)>;
// The digest of a file's bytes outside the places of `table`. Calls `between` every few MiB of work.
[[nodiscard]] Result<Sha256> digest_outside(std::uint64_t file_bytes, Bytes table, const ReadBytes& read,
                                            const std::function<void()>& between);

// Code::corrupt, and what differs, if these bytes of a node file are not those that were written, or the file is not
// `bytes` long.
[[nodiscard]] Status check_node_file(const Store& global, const FileName& name, std::uint64_t bytes,
                                     const NodeFileCheck& expected, const std::function<void()>& between);

}  // namespace cairn
