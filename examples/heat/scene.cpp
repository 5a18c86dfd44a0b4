#include "scene.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace heat {

namespace {

// Places are in units of the plate's height: y is 0 at the top and 1 at the bottom, x is 0 in the middle.
struct Place {
  double x;
  double y;
};

struct Ellipse {
  Place centre;
  double half_width;
  double half_height;
  double tilt;  // radians

  // Below 1 inside, 1 on the rim.
  [[nodiscard]] double at(Place p) const {
    const double dx = p.x - centre.x;
    const double dy = p.y - centre.y;
    const double u = (dx * std::cos(tilt) + dy * std::sin(tilt)) / half_width;
    const double v = (dy * std::cos(tilt) - dx * std::sin(tilt)) / half_height;
    return std::sqrt(u * u + v * v);
  }
};

// Bottom to top, with gaps that the heat creeps through.
constexpr std::array kStones{
    Ellipse{{-0.010, 0.858}, 0.300, 0.068, 0.00}, Ellipse{{0.015, 0.722}, 0.225, 0.060, -0.05},
    Ellipse{{-0.015, 0.602}, 0.170, 0.050, 0.06}, Ellipse{{0.010, 0.503}, 0.118, 0.040, -0.05},
    Ellipse{{-0.004, 0.424}, 0.075, 0.031, 0.10}, Ellipse{{0.006, 0.360}, 0.042, 0.026, 0.25},
};
constexpr Ellipse kSun{{0.43, 0.235}, 0.085, 0.085, 0};
constexpr double kGround = 0.925;

// Mounds on the ground.
bool is_ember(Place p) {
  const double mound = std::sin(p.x * 41.0) + 0.6 * std::sin(p.x * 17.0 + 1.0);
  return p.y > 1.01 - 0.05 * std::max(mound, 0.0);
}

// The start: warm ground, cold sky with slow waves in it, and a halo round the sun.
double start_at(Place p) {
  const double sky = 0.10 + 0.30 * p.y * p.y;
  const double waves = 0.09 * std::sin(9.0 * p.x + 5.0 * p.y) * std::sin(14.0 * p.y - 3.0 * p.x);
  const double from_sun = kSun.at(p);
  const double halo = 0.35 * std::exp(-(from_sun - 1) * (from_sun - 1) / 1.5) +
                      0.30 * std::exp(-(from_sun - 3.1) * (from_sun - 3.1) / 0.08);
  const double ground = 0.35 * std::exp(-std::abs(p.y - kGround) / 0.03);
  return std::clamp(sky + waves + halo + ground, 0.0, 0.95);
}

}  // namespace

Cell cell_at(Extent extent, std::size_t row, std::size_t col) {
  if (row == 0 || col == 0 || row + 1 >= extent.rows || col + 1 >= extent.cols) return {Cell::Kind::kept, 0.0};

  const auto height = static_cast<double>(extent.rows);
  const Place p{(static_cast<double>(col) + 0.5 - static_cast<double>(extent.cols) / 2) / height,
                (static_cast<double>(row) + 0.5) / height};
  if (std::ranges::any_of(kStones, [&](const Ellipse& stone) { return stone.at(p) < 1; })) {
    return {Cell::Kind::insulated, kInsulated};
  }
  if (kSun.at(p) < 1) return {Cell::Kind::kept, 1.0};
  if (is_ember(p)) return {Cell::Kind::kept, 0.9};
  return {Cell::Kind::free, start_at(p)};
}

}  // namespace heat
