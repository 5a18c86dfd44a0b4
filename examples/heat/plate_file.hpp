// The file that heat leaves: a 32-byte header, then rows × cols doubles, row by row, in the byte order of
// the machine that wrote it.
//
//   offset  size  meaning
//        0     8  "HEATPLT1"
//        8     8  the number 1 as a double: tells the byte order
//       16     8  rows
//       24     8  cols
#pragma once

#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <vector>

#include "plate.hpp"

namespace heat {

// Writes <path>.tmp and renames it to <path> in close(), so that <path> is always whole. Throws
// std::runtime_error that names the file.
class PlateWriter {
 public:
  PlateWriter(std::filesystem::path path, Extent extent);
  void append(std::span<const double> cells);
  void close();

 private:
  std::filesystem::path path_;
  std::filesystem::path temporary_;
  std::ofstream file_;
};

struct Picture {
  Extent extent;
  std::vector<double> cells;
};

// Throws std::runtime_error that names the file and what is wrong with it.
[[nodiscard]] Picture read_plate(const std::filesystem::path& path);

}  // namespace heat
