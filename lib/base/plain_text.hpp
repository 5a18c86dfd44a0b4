// Text that comes from outside, made fit for a line of a log and for JSON. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace cairn {

// Of the longest beginning that has whole characters and at most `most_bytes` bytes: with a blank for each control
// character and a '?' for each byte that is not UTF-8.
[[nodiscard]] std::string plain_text(std::string_view text, std::size_t most_bytes);

// Any bytes as UTF-8, and back. Bytes that are UTF-8 and nowhere "\x" stay as they are. In others each backslash is
// doubled, and each byte that is not UTF-8 becomes "\xe9". Inverse pair; unescaped() takes any text.
[[nodiscard]] std::string escaped(std::string_view bytes);
[[nodiscard]] std::string unescaped(std::string_view text);
// The same for a terminal: control characters are escaped, too.
[[nodiscard]] std::string escaped_for_terminal(std::string_view bytes);

}  // namespace cairn
