// The plate shows a cairn of insulated stones on warm ground, under a round heater, in a cold frame. Each cell is a
// function of its place alone, so every rank makes its own rows.
#pragma once

#include <cstddef>

#include "plate.hpp"

namespace heat {

// An insulated cell holds no heat. This value marks it in results.
inline constexpr double kInsulated = -1.0;

struct Cell {
  enum class Kind { free, kept, insulated } kind = Kind::free;
  double temperature = 0;  // at the start: 0 cold … 1 hot, or kInsulated
};

[[nodiscard]] Cell cell_at(Extent extent, std::size_t row, std::size_t col);

}  // namespace heat
