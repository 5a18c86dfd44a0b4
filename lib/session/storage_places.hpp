// Where the stores are, as directories of this machine. Local.
#pragma once

#include <string>

#include "base/error.hpp"

namespace cairn {

// From the root, so that it says the same in any working directory; links are left in it.
[[nodiscard]] std::string absolute_place(const std::string& path);

// Node stores and the global store must not share a directory, nor lie one inside the other: each would take the
// other's files for its own, and L4 would be lost with a node. Links and ".." are followed, as far as the path is
// there.
[[nodiscard]] Status check_places(const std::string& local, const std::string& global);

}  // namespace cairn
