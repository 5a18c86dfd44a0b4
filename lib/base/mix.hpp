// Numbers that look random, from numbers that do not. Pure.
#pragma once

#include <cstdint>

namespace cairn {

// SplitMix64 (Steele, Lea and Flood 2014, DOI 10.1145/2714064.2660195). Different values give different results.
[[nodiscard]] constexpr std::uint64_t mix(std::uint64_t value) {
  value += 0x9e3779b97f4a7c15U;
  value = (value ^ (value >> 30U)) * 0xbf58476d1ce4e5b9U;
  value = (value ^ (value >> 27U)) * 0x94d049bb133111ebU;
  return value ^ (value >> 31U);
}

}  // namespace cairn
