// Heat in a thin rectangular plate, by the explicit five-point scheme
//
//   T'(r, c) = T + f · Σ (T_neighbour − T)     over neighbours that conduct,  f = 0.24
//
// which is stable for f ≤ 1/4. Cells of the frame and of heaters keep their temperature; insulated cells
// pass no heat. The plate is cut into blocks of whole rows. A block's new cells depend on its own cells and on one row
// above and below. The order of operations is always the same, so the result does not depend on the number of blocks.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace heat {

struct Extent {
  std::size_t rows = 0;
  std::size_t cols = 0;
};

// Rows first … first + rows − 1 of the plate.
struct Block {
  std::size_t first = 0;
  std::size_t rows = 0;
};

// Part `part` of `parts`. The first parts get one row more where rows do not divide; with more parts than rows the
// last ones are empty.
[[nodiscard]] Block block_of(std::size_t part, std::size_t parts, std::size_t rows);

class Plate {
 public:
  Plate(Extent extent, Block block);

  // The block's cells, row by row: with the number of steps done, the whole state.
  [[nodiscard]] std::vector<double>& cells() { return cells_; }
  [[nodiscard]] const Extent& extent() const { return extent_; }
  [[nodiscard]] const Block& block() const { return block_; }

  // The rows that the neighbours need, and those that they fill before relax(). The block must not be empty.
  [[nodiscard]] std::span<double> first_row() { return row(cells_, 0); }
  [[nodiscard]] std::span<double> last_row() { return row(cells_, block_.rows - 1); }
  [[nodiscard]] std::span<double> above() { return above_; }
  [[nodiscard]] std::span<double> below() { return below_; }

  // One step of time.
  void relax();

 private:
  [[nodiscard]] std::span<double> row(std::vector<double>& field, std::size_t r) const {
    return std::span(field).subspan(r * extent_.cols, extent_.cols);
  }

  Extent extent_;
  Block block_;
  std::vector<double> cells_;
  std::vector<double> next_;
  std::vector<double> above_;
  std::vector<double> below_;
  std::vector<double> rate_;      // f, or 0 where the temperature is kept
  std::vector<double> conducts_;  // 1 or 0; one row above and one below included
};

}  // namespace heat
