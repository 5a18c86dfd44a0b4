// The file with a job's secret key ([integrity] key_file): 32 to 4096 bytes of any kind, which only the user may read.
// Made by `head -c 32 /dev/urandom > FILE; chmod 600 FILE`. Local.
#pragma once

#include <string>

#include "base/error.hpp"
#include "base/secret_key.hpp"

namespace cairn {

// Code::config, with what it should be, if the file is missing, is not a regular file (a link to one is refused too),
// belongs to another user, is open to others, or does not contain a key.
[[nodiscard]] Result<SecretKey> read_key_file(const std::string& path);

}  // namespace cairn
