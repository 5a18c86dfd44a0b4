// Numbers that are the same for the same seed on any machine.
#pragma once

#include <cstdint>
#include <random>

namespace cairn::torture {

// Not std::uniform_int_distribution, which differs between libraries.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : engine_(seed) {}
  std::uint64_t number() { return engine_(); }
  // 0 … sides − 1
  std::uint32_t roll(std::uint32_t sides) { return static_cast<std::uint32_t>(engine_() % sides); }
  bool one_in(std::uint32_t sides) { return roll(sides) == 0; }
  std::uint32_t between(std::uint32_t low, std::uint32_t high) { return low + roll(high - low + 1); }

 private:
  std::mt19937_64 engine_;
};

}  // namespace cairn::torture
