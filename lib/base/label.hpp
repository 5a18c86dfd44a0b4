// Labels, by which the program and the user name snapshots, and other short texts of the program. Pure.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/error.hpp"

namespace cairn {

inline constexpr std::size_t kMostNameBytes = 255;

// Whether a text is neither empty nor too long, and has no control characters. `what`: what it is, for the error.
[[nodiscard]] Status check_name(std::string_view what, std::string_view text);
// The same for a label. It is not what a version may be, such as "5", "newest" or "5 again".
[[nodiscard]] Status check_label(std::string_view label);

}  // namespace cairn
