// Where the stores are, as directories of this machine. Local.
#pragma once

#include <string>

#include "base/error.hpp"
#include "config/config.hpp"

namespace cairn {

// An absolute path, which is valid in any working directory. Does not resolve links.
[[nodiscard]] std::string absolute_place(const std::string& path);

// The root of the store of the node with this name, as absolute_place(). Nodes that [topology] node_size makes may
// share a host, so each has a directory of its own.
[[nodiscard]] std::string place_of_node(const Config& config, const std::string& node);

// Node stores and the global store must not share a directory, and none may be inside the other. Each would mistake the
// other's files for its own, and L4 would be lost with a node. Follows links and ".." as far as the path exists.
[[nodiscard]] Status check_places(const std::string& local, const std::string& global);

}  // namespace cairn
