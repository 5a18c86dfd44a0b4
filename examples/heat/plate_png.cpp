// plate-png IN OUT.png: a picture of a plate that heat left. Colours go from cold (dark) to hot (light), thin
// lines join equal temperatures, insulated stones are grey and lit from above.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <exception>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

#include <png.h>

#include "plate_file.hpp"
#include "scene.hpp"

namespace {

struct Colour {
  double red;
  double green;
  double blue;
};

Colour mix(const Colour& a, const Colour& b, double part) {
  return {a.red + (b.red - a.red) * part, a.green + (b.green - a.green) * part, a.blue + (b.blue - a.blue) * part};
}

Colour scaled(const Colour& a, double by) { return {a.red * by, a.green * by, a.blue * by}; }

// Night blue through violet and red to pale yellow, evenly growing in lightness.
constexpr std::array kScale{Colour{8, 10, 38},    Colour{34, 20, 84},   Colour{84, 24, 120},
                            Colour{136, 34, 126}, Colour{188, 48, 108}, Colour{228, 78, 80},
                            Colour{248, 126, 60}, Colour{252, 182, 74}, Colour{254, 236, 160}};

Colour colour_of(double temperature) {
  const double place = std::clamp(temperature, 0.0, 1.0) * (kScale.size() - 1);
  const auto below = std::min(static_cast<std::size_t>(place), kScale.size() - 2);
  return mix(kScale[below], kScale[below + 1], place - static_cast<double>(below));
}

class Painter {
 public:
  explicit Painter(const heat::Picture& picture) : picture_(picture) {}

  [[nodiscard]] Colour paint(std::size_t row, std::size_t col) const {
    const double here = at(row, col);
    if (here == heat::kInsulated) return stone(row, col);
    const bool on_line = crosses_line(here, row + 1, col) || crosses_line(here, row, col + 1);
    return on_line ? scaled(colour_of(here), 0.72) : colour_of(here);
  }

 private:
  static constexpr double kLines = 24;  // lines of equal temperature between 0 and 1

  [[nodiscard]] double at(std::size_t row, std::size_t col) const {
    return picture_.cells[std::min(row, picture_.extent.rows - 1) * picture_.extent.cols +
                          std::min(col, picture_.extent.cols - 1)];
  }
  [[nodiscard]] bool crosses_line(double here, std::size_t row, std::size_t col) const {
    const double there = at(row, col);
    return there != heat::kInsulated && std::floor(here * kLines) != std::floor(there * kLines);
  }
  // Lighter the nearer the stone's upper rim is.
  [[nodiscard]] Colour stone(std::size_t row, std::size_t col) const {
    const auto reach = std::max<std::size_t>(picture_.extent.rows / 12, 1);
    std::size_t depth = 0;
    while (depth < reach && depth < row && at(row - depth, col) == heat::kInsulated) ++depth;
    const double shade = static_cast<double>(depth) / static_cast<double>(reach);
    return mix({150, 152, 168}, {30, 30, 44}, std::sqrt(shade));
  }

  const heat::Picture& picture_;
};

void write_png(const heat::Picture& picture, const std::string& path) {
  const Painter painter(picture);
  std::vector<std::uint8_t> pixels;
  pixels.reserve(picture.cells.size() * 3);
  for (std::size_t row = 0; row < picture.extent.rows; ++row) {
    for (std::size_t col = 0; col < picture.extent.cols; ++col) {
      const auto colour = painter.paint(row, col);
      for (const double part : {colour.red, colour.green, colour.blue}) {
        pixels.push_back(static_cast<std::uint8_t>(std::lround(part)));
      }
    }
  }
  png_image image;
  std::memset(&image, 0, sizeof image);
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(picture.extent.cols);
  image.height = static_cast<png_uint_32>(picture.extent.rows);
  image.format = PNG_FORMAT_RGB;
  if (png_image_write_to_file(&image, path.c_str(), 0, pixels.data(), 0, nullptr) == 0) {
    throw std::runtime_error(path + ": cannot be written: " + image.message);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: plate-png PLATE OUT.png\n";
    return 2;
  }
  try {
    write_png(heat::read_plate(argv[1]), argv[2]);
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "plate-png: " << error.what() << '\n';
    return 1;
  }
}
