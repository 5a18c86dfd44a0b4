// The text that cairn_error_text() gives: of the last error of the calling thread.
#pragma once

#include <string>

namespace cairn::bind {

// Keeps the text and returns the code.
int fail(int code, std::string text);
// The same, and logs the text.
int refuse(int code, std::string text);
[[nodiscard]] const std::string& last_error();
// The code that belongs to that text; 0 at first.
[[nodiscard]] int last_code();

}  // namespace cairn::bind
