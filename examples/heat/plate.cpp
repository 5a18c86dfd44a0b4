#include "plate.hpp"

#include <algorithm>

#include "scene.hpp"

namespace heat {

namespace {

constexpr double kFactor = 0.24;

// Three rows of temperatures and of conduction.
struct Stencil {
  const double* above;
  const double* here;
  const double* below;
};

void relax_row(const Stencil& t, const Stencil& w, const double* rate, std::span<double> out) {
  const auto cols = out.size();
  out.front() = t.here[0];
  out.back() = t.here[cols - 1];
  for (std::size_t c = 1; c + 1 < cols; ++c) {
    const double here = t.here[c];
    out[c] = here + rate[c] * (w.above[c] * (t.above[c] - here) + w.below[c] * (t.below[c] - here) +
                               w.here[c - 1] * (t.here[c - 1] - here) + w.here[c + 1] * (t.here[c + 1] - here));
  }
}

}  // namespace

Block block_of(std::size_t part, std::size_t parts, std::size_t rows) {
  const auto share = rows / parts;
  const auto longer = rows % parts;
  return {part * share + std::min(part, longer), share + (part < longer ? 1 : 0)};
}

Plate::Plate(Extent extent, Block block)
    : extent_(extent),
      block_(block),
      cells_(block.rows * extent.cols),
      next_(cells_.size()),
      above_(extent.cols),
      below_(extent.cols),
      rate_(cells_.size()),
      conducts_((block.rows + 2) * extent.cols) {
  for (std::size_t r = 0; r < block.rows; ++r) {
    for (std::size_t c = 0; c < extent.cols; ++c) {
      const auto cell = cell_at(extent, block.first + r, c);
      cells_[r * extent.cols + c] = cell.temperature;
      rate_[r * extent.cols + c] = cell.kind == Cell::Kind::free ? kFactor : 0;
    }
  }
  // Row r of conducts_ is row first + r − 1 of the plate; outside of the plate nothing conducts.
  for (std::size_t r = 0; r < block.rows + 2; ++r) {
    const auto one_up = block.first + r;
    if (one_up < 1 || one_up > extent.rows) continue;
    for (std::size_t c = 0; c < extent.cols; ++c) {
      const auto cell = cell_at(extent, one_up - 1, c);
      conducts_[r * extent.cols + c] = cell.kind == Cell::Kind::insulated ? 0 : 1;
    }
  }
}

void Plate::relax() {
  const auto cols = extent_.cols;
  for (std::size_t r = 0; r < block_.rows; ++r) {
    const double* here = cells_.data() + r * cols;
    const double* conducts = conducts_.data() + (r + 1) * cols;
    const Stencil temperature{r == 0 ? above_.data() : here - cols, here,
                              r + 1 == block_.rows ? below_.data() : here + cols};
    relax_row(temperature, {conducts - cols, conducts, conducts + cols}, rate_.data() + r * cols, row(next_, r));
  }
  std::swap(cells_, next_);
}

}  // namespace heat
