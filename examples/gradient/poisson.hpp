// A membrane in a rectangular frame, under an even load: Poisson's equation −Δu = 1, with u = 0 at the frame. On a grid
// of rows × cols inner points at distance h, the five-point stencil makes it the linear system A u = h²,
//
//   (A u)(r, c) = 4 u(r, c) − u(r−1, c) − u(r+1, c) − u(r, c−1) − u(r, c+1),     h = 1 / (rows + 1)
//
// A is symmetric and positive definite. All functions are of one block of whole rows. They sum in the same order each
// time.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace gradient {

// Vectors with one number for each point of a block, row by row.
using Vector = std::vector<double>;

// The rows above and below a block: those of its neighbours, or zeros where the frame is.
struct Beside {
  explicit Beside(std::size_t cols) : above(cols), below(cols) {}
  Vector above;
  Vector below;
};

// h² at each point.
[[nodiscard]] double load(std::size_t rows);

// out = A u. `out` has as many points as `u`.
void apply_stencil(const Vector& u, const Beside& beside, Vector& out);

// The block's part of the scalar product a · b.
[[nodiscard]] double product(const Vector& a, const Vector& b);

// y += factor · x
void add(double factor, const Vector& x, Vector& y);

// y = x + factor · y
void add_to_multiple(const Vector& x, double factor, Vector& y);

}  // namespace gradient
