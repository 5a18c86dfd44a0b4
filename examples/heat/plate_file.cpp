#include "plate_file.hpp"

#include <array>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace heat {

namespace {

struct Header {
  std::array<char, 8> magic{'H', 'E', 'A', 'T', 'P', 'L', 'T', '1'};
  double one = 1.0;
  std::uint64_t rows = 0;
  std::uint64_t cols = 0;
};
static_assert(sizeof(Header) == 32);

std::runtime_error error(const std::filesystem::path& path, const std::string& what) {
  return std::runtime_error(path.string() + ": " + what);
}

}  // namespace

PlateWriter::PlateWriter(std::filesystem::path path, Extent extent)
    : path_(std::move(path)), temporary_(path_.string() + ".tmp"), file_(temporary_, std::ios::binary) {
  Header header;
  header.rows = extent.rows;
  header.cols = extent.cols;
  file_.write(reinterpret_cast<const char*>(&header), sizeof header);
  if (!file_) throw error(temporary_, "cannot be written");
}

void PlateWriter::append(std::span<const double> cells) {
  file_.write(reinterpret_cast<const char*>(cells.data()), static_cast<std::streamsize>(cells.size_bytes()));
  if (!file_) throw error(temporary_, "cannot be written; is the disk full?");
}

void PlateWriter::close() {
  file_.close();
  if (!file_) throw error(temporary_, "cannot be written; is the disk full?");
  std::filesystem::rename(temporary_, path_);
}

Picture read_plate(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw error(path, "cannot be opened");
  Header header;
  const Header expected;
  if (!file.read(reinterpret_cast<char*>(&header), sizeof header) || header.magic != expected.magic) {
    throw error(path, "is not a plate written by heat");
  }
  if (header.one != expected.one) throw error(path, "was written on a machine of another byte order");

  const auto bytes = std::filesystem::file_size(path) - sizeof header;
  const auto cells = bytes / sizeof(double);
  if (bytes % sizeof(double) != 0 || header.rows == 0 || header.cols == 0 || cells % header.rows != 0 ||
      cells / header.rows != header.cols) {
    throw error(path, "should hold " + std::to_string(header.rows) + " × " + std::to_string(header.cols) +
                          " doubles, but holds " + std::to_string(bytes) + " bytes");
  }
  Picture picture{{header.rows, header.cols}, std::vector<double>(cells)};
  if (!file.read(reinterpret_cast<char*>(picture.cells.data()), static_cast<std::streamsize>(bytes))) {
    throw error(path, "cannot be read");
  }
  return picture;
}

}  // namespace heat
