#include "poisson.hpp"

#include <numeric>

namespace gradient {

double load(std::size_t rows) {
  const double h = 1 / static_cast<double>(rows + 1);
  return h * h;
}

void apply_stencil(const Vector& u, const Beside& beside, Vector& out) {
  const auto cols = beside.above.size();
  const auto rows = u.size() / cols;
  for (std::size_t r = 0; r < rows; ++r) {
    const double* here = u.data() + r * cols;
    const double* above = r == 0 ? beside.above.data() : here - cols;
    const double* below = r + 1 == rows ? beside.below.data() : here + cols;
    for (std::size_t c = 0; c < cols; ++c) {
      const double left = c == 0 ? 0 : here[c - 1];
      const double right = c + 1 == cols ? 0 : here[c + 1];
      out[r * cols + c] = 4 * here[c] - above[c] - below[c] - left - right;
    }
  }
}

double product(const Vector& a, const Vector& b) { return std::inner_product(a.begin(), a.end(), b.begin(), 0.0); }

void add(double factor, const Vector& x, Vector& y) {
  for (std::size_t i = 0; i < y.size(); ++i) y[i] += factor * x[i];
}

void add_to_multiple(const Vector& x, double factor, Vector& y) {
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = x[i] + factor * y[i];
}

}  // namespace gradient
