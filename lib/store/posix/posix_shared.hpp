// A SharedFile of a PosixStore: a new file at its place, with all of its bytes reserved, mapped for writing.
#pragma once

#include <memory>

#include "store/posix/posix_paths.hpp"
#include "store/store.hpp"

namespace cairn::posix {

// What has the name is removed, but its bytes stay for who has them mapped.
[[nodiscard]] Result<std::unique_ptr<SharedFile>> make_shared_file(const Place& place, std::uint64_t size_bytes);

}  // namespace cairn::posix
