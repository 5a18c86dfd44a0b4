// The example's solver: what the demo compares bit for bit must not depend on how the plate was cut.
#include "plate.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <vector>

#include <gtest/gtest.h>

#include "plate_file.hpp"
#include "scene.hpp"

namespace heat {
namespace {

// Steps a plate cut into `parts` blocks; neighbours' rows are copied by hand.
std::vector<double> cells_after(Extent extent, std::size_t parts, int steps) {
  std::vector<Plate> plates;
  for (std::size_t part = 0; part < parts; ++part) {
    const auto block = block_of(part, parts, extent.rows);
    if (block.rows > 0) plates.emplace_back(extent, block);
  }
  for (int step = 0; step < steps; ++step) {
    for (std::size_t upper = 0; upper + 1 < plates.size(); ++upper) {
      std::ranges::copy(plates[upper + 1].first_row(), plates[upper].below().begin());
      std::ranges::copy(plates[upper].last_row(), plates[upper + 1].above().begin());
    }
    for (auto& plate : plates) plate.relax();
  }
  std::vector<double> all;
  for (auto& plate : plates) all.insert(all.end(), plate.cells().begin(), plate.cells().end());
  return all;
}

TEST(Plate, is_the_same_bit_for_bit_however_many_blocks_it_is_cut_into) {
  const Extent extent{61, 97};
  const auto whole = cells_after(extent, 1, 200);
  for (const std::size_t parts : {2, 3, 7, 8, 60, 61, 64}) {
    EXPECT_EQ(cells_after(extent, parts, 200), whole) << parts << " blocks";
  }
}

TEST(Plate, steps_change_free_cells_and_keep_heaters_stones_and_frame) {
  const Extent extent{61, 97};
  const auto start = cells_after(extent, 1, 0);
  const auto later = cells_after(extent, 1, 50);
  std::size_t changed = 0;
  for (std::size_t i = 0; i < start.size(); ++i) {
    const auto cell = cell_at(extent, i / extent.cols, i % extent.cols);
    if (cell.kind == Cell::Kind::free)
      changed += later[i] != start[i] ? 1 : 0;
    else
      EXPECT_EQ(later[i], start[i]) << "cell " << i;
  }
  EXPECT_GT(changed, start.size() / 2);
}

TEST(Plate, stays_between_the_coldest_and_the_hottest_of_its_cells) {
  for (const double value : cells_after({61, 97}, 1, 2000)) {
    if (value == kInsulated) continue;
    EXPECT_GE(value, 0.0);
    EXPECT_LE(value, 1.0);
  }
}

TEST(Plate, of_one_row_or_one_column_is_all_frame_and_stays_cold) {
  EXPECT_EQ(cells_after({1, 5}, 1, 3), std::vector<double>(5, 0.0));
  EXPECT_EQ(cells_after({5, 1}, 2, 3), std::vector<double>(5, 0.0));
}

TEST(BlockOf, covers_every_row_once_and_differs_by_at_most_one_row) {
  for (const std::size_t rows : {1, 2, 7, 8, 9, 100}) {
    for (const std::size_t parts : {1, 3, 8, 12}) {
      std::size_t next = 0;
      for (std::size_t part = 0; part < parts; ++part) {
        const auto block = block_of(part, parts, rows);
        EXPECT_EQ(block.first, next) << part << " of " << parts << ", " << rows << " rows";
        EXPECT_GE(block.rows, rows / parts);
        EXPECT_LE(block.rows, rows / parts + 1);
        next += block.rows;
      }
      EXPECT_EQ(next, rows);
    }
  }
}

class PlateFile : public testing::Test {
 protected:
  PlateFile() {
    PlateWriter writer(path_, {2, 3});
    writer.append(std::vector<double>{1, 2, 3, 4});
    writer.append(std::vector<double>{5, 6});
    writer.close();
  }
  ~PlateFile() override { std::filesystem::remove(path_); }

  const std::filesystem::path path_ =
      testing::TempDir() + "plate_test_" + testing::UnitTest::GetInstance()->current_test_info()->name() + ".bin";
};

TEST_F(PlateFile, reads_back_what_was_appended) {
  const auto picture = read_plate(path_);
  EXPECT_EQ(picture.extent.rows, 2U);
  EXPECT_EQ(picture.extent.cols, 3U);
  EXPECT_EQ(picture.cells, (std::vector<double>{1, 2, 3, 4, 5, 6}));
  EXPECT_FALSE(std::filesystem::exists(path_.string() + ".tmp"));
}

TEST_F(PlateFile, refuses_a_truncated_file_by_name) {
  std::filesystem::resize_file(path_, std::filesystem::file_size(path_) - 8);
  try {
    (void)read_plate(path_);
    FAIL() << "a truncated plate was read";
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find(path_.string()), std::string::npos) << error.what();
  }
}

TEST_F(PlateFile, refuses_a_foreign_file) {
  std::ofstream(path_) << "a text that is longer than the header of a plate";
  EXPECT_THROW((void)read_plate(path_), std::runtime_error);
}

}  // namespace
}  // namespace heat
