// Numbers that others do not draw, too: names of runs, stores and reports. Thread-safe. Local.
#pragma once

#include <cstdint>

namespace cairn {

// 64 bits from the system's source of randomness.
[[nodiscard]] std::uint64_t drawn_number();

}  // namespace cairn
