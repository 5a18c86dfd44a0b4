// Small text files that a user has written.
#pragma once

#include <string>

#include "base/error.hpp"

namespace cairn {

// The contents of the file. The error has the code `failed`, and names the file and the cause.
[[nodiscard]] Result<std::string> read_text_file(const std::string& file, Code failed);

}  // namespace cairn
