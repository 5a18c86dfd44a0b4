// What the plate is made of, as a function of the place alone, so that every rank can lay out its own rows:
// a cairn of insulated stones on warm ground, under a heater that is round like a sun, in a cold frame.
#pragma once

#include <cstddef>

#include "plate.hpp"

namespace heat {

// An insulated cell holds no heat; it shows in results as this.
inline constexpr double kInsulated = -1.0;

struct Cell {
  enum class Kind { free, kept, insulated } kind = Kind::free;
  double temperature = 0;  // at the start: 0 cold … 1 hot, or kInsulated
};

[[nodiscard]] Cell cell_at(Extent extent, std::size_t row, std::size_t col);

}  // namespace heat
