// Text that comes from outside, made fit for a line of a log and for JSON. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace cairn {

// Of the longest beginning that has whole characters and at most `most_bytes` bytes: with a blank for each control
// character and a '?' for each byte that is not UTF-8.
[[nodiscard]] std::string plain_text(std::string_view text, std::size_t most_bytes);

}  // namespace cairn
