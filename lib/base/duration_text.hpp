// A measured or computed time as text for a person. Pure.
#pragma once

#include <string>

namespace cairn {

// "3.14 us", "500 ms", "12.3 min", "never": three digits.
[[nodiscard]] std::string duration_text(double seconds);

}  // namespace cairn
