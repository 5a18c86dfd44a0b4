// Where node stores are by default: in memory, in a directory of the user's own.
#pragma once

#include <string>
#include <string_view>

namespace cairn {

// "/dev/shm/cairn-1000" for the user with the number 1000. PosixStore::open() makes it when it is missing, and refuses
// one that is not the user's alone.
[[nodiscard]] std::string default_node_root();

// `root` with each "<uid>" replaced by the user's number, so that users can share a configuration.
[[nodiscard]] std::string with_user_number(std::string_view root);

}  // namespace cairn
