// How much one call of ISA-L may be given: it counts in int.
#pragma once

#include <cstddef>

namespace cairn {

inline constexpr std::size_t kLongestCall = 1U << 30U;

}  // namespace cairn
