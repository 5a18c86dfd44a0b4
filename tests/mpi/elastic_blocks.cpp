// A program that may run on any number of ranks: heat in blocks of a plate, with ghosts around each. The plate is a
// ring in the direction of its columns.
//
//   elastic_blocks CONFIG STEPS RESULT
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <vector>

#include <mpi.h>

#include <cairn/cairn.hpp>

namespace {

constexpr std::uint64_t kRows = 61;
constexpr std::uint64_t kColumns = 47;

struct Range {
  std::uint64_t first = 0, count = 0;
};
Range share_of(std::uint64_t all, int part, int parts) {
  const auto begin = all * static_cast<std::uint64_t>(part) / static_cast<std::uint64_t>(parts);
  return {begin, all * static_cast<std::uint64_t>(part + 1) / static_cast<std::uint64_t>(parts) - begin};
}

struct Block {
  Range rows;
  Range columns;
  std::vector<double> cells;  // with one ghost on each side
  Block(int rank, int size) {
    int grid[2] = {0, 0};
    MPI_Dims_create(size, 2, grid);
    rows = share_of(kRows, rank / grid[1], grid[0]);
    columns = share_of(kColumns, rank % grid[1], grid[1]);
    cells.resize((rows.count + 2) * (columns.count + 2));
  }
  // Own cells begin with 1.
  double& at(std::uint64_t row, std::uint64_t column) { return cells[row * (columns.count + 2) + column]; }
};

// Each rank gets the whole plate: sums with zeros are exact, whatever the blocks are.
std::vector<double> whole(Block& block, MPI_Comm comm) {
  std::vector<double> plate(kRows * kColumns, 0.0);
  for (std::uint64_t r = 0; r < block.rows.count; ++r)
    for (std::uint64_t c = 0; c < block.columns.count; ++c)
      plate[(block.rows.first + r) * kColumns + block.columns.first + c] = block.at(r + 1, c + 1);
  MPI_Allreduce(MPI_IN_PLACE, plate.data(), static_cast<int>(plate.size()), MPI_DOUBLE, MPI_SUM, comm);
  return plate;
}

// Above and below the plate, ghosts are hot and cold.
void fill_ghosts(Block& block, const std::vector<double>& plate) {
  for (std::uint64_t r = 0; r < block.rows.count + 2; ++r) {
    for (std::uint64_t c = 0; c < block.columns.count + 2; ++c) {
      const std::uint64_t row = block.rows.first + r;  // of the plate, and 1
      const std::uint64_t column = (block.columns.first + c + kColumns - 1) % kColumns;
      const bool is_own = r > 0 && r <= block.rows.count && c > 0 && c <= block.columns.count;
      if (is_own) continue;
      block.at(r, c) = row == 0           ? 100 + static_cast<double>(column)
                       : row == kRows + 1 ? 0
                                          : plate[(row - 1) * kColumns + column];
    }
  }
}

void relax(Block& block) {
  Block before = block;
  for (std::uint64_t r = 1; r <= block.rows.count; ++r)
    for (std::uint64_t c = 1; c <= block.columns.count; ++c)
      block.at(r, c) = (before.at(r - 1, c) + before.at(r + 1, c) + before.at(r, c - 1) + before.at(r, c + 1)) / 4;
}

void simulate(cairn::Session& session, int steps, const char* file) {
  const MPI_Comm comm = session.comm();
  Block block(static_cast<int>(session.rank()), static_cast<int>(session.size()));
  std::int64_t step = 0;
  session.protect("plate", block.cells.data(), {block.rows.count + 2, block.columns.count + 2},
                  cairn::GlobalPlace{{kRows, kColumns}, {block.rows.first, block.columns.first}, {1, 1}, {1, 1}});
  session.protect("step", step, cairn::same);
  if (session.restore().restored && session.rank() == 0) {
    std::printf("continues at step %d\n", static_cast<int>(step));
    std::fflush(stdout);
  }
  while (step < steps) {
    fill_ghosts(block, whole(block, comm));
    relax(block);
    ++step;
    session.snapshot();
  }
  const std::vector<double> plate = whole(block, comm);
  if (session.rank() != 0) return;
  std::ofstream out(file, std::ios::binary);
  out.write(reinterpret_cast<const char*>(plate.data()), static_cast<std::streamsize>(plate.size() * sizeof(double)));
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc != 4) return 2;
  const int code = cairn::run(MPI_COMM_WORLD, argv[1],
                              [&](cairn::Session& session) { simulate(session, std::atoi(argv[2]), argv[3]); });
  MPI_Finalize();
  return code;
}
