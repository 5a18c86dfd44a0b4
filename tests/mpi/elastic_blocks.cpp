// A program that may run on any number of ranks: heat in blocks of a plate, and particles that move. A rank kills
// itself before a snapshot if it is asked to:
//
//   elastic_blocks CONFIG STEPS DIES_AT RANK RESULT     DIES_AT: a step, or 0
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <numeric>
#include <string>
#include <vector>

#include <mpi.h>

#include <cairn/cairn.hpp>

namespace {

constexpr std::uint64_t kRows = 61;
constexpr std::uint64_t kColumns = 47;
constexpr std::uint64_t kParticles = 1000;

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
  Block(int rank, int size) {
    int grid[2] = {0, 0};
    MPI_Dims_create(size, 2, grid);
    rows = share_of(kRows, rank / grid[1], grid[0]);
    columns = share_of(kColumns, rank % grid[1], grid[1]);
  }
};

// Each rank gets the whole plate: sums with zeros are exact, whatever the blocks are.
std::vector<double> whole(const Block& block, const std::vector<double>& cells, MPI_Comm comm) {
  std::vector<double> plate(kRows * kColumns, 0.0);
  for (std::uint64_t r = 0; r < block.rows.count; ++r)
    for (std::uint64_t c = 0; c < block.columns.count; ++c)
      plate[(block.rows.first + r) * kColumns + block.columns.first + c] = cells[r * block.columns.count + c];
  MPI_Allreduce(MPI_IN_PLACE, plate.data(), static_cast<int>(plate.size()), MPI_DOUBLE, MPI_SUM, comm);
  return plate;
}

void relax(const Block& block, std::vector<double>& cells, const std::vector<double>& plate) {
  for (std::uint64_t r = 0; r < block.rows.count; ++r) {
    for (std::uint64_t c = 0; c < block.columns.count; ++c) {
      const std::uint64_t row = block.rows.first + r;
      const std::uint64_t column = block.columns.first + c;
      double& cell = cells[r * block.columns.count + c];
      const std::uint64_t at = row * kColumns + column;
      const bool inside = row + 1 < kRows && column > 0 && column + 1 < kColumns;
      if (row == 0)
        cell = 100 + static_cast<double>(column);
      else if (inside)
        cell = (plate[at - kColumns] + plate[at + kColumns] + plate[at - 1] + plate[at + 1]) / 4;
    }
  }
}

void write(const std::string& file, const std::vector<double>& plate, const std::vector<std::uint64_t>& ids,
           const std::vector<double>& positions, MPI_Comm comm) {
  int rank = 0, size = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  for (int turn = 0; turn < size; ++turn) {
    if (turn == rank) {
      std::ofstream out(file, turn == 0 ? std::ios::binary | std::ios::trunc : std::ios::binary | std::ios::app);
      if (turn == 0)
        out.write(reinterpret_cast<const char*>(plate.data()), static_cast<std::streamsize>(plate.size() * 8));
      for (std::size_t i = 0; i < ids.size(); ++i) {
        out.write(reinterpret_cast<const char*>(&ids[i]), 8);
        out.write(reinterpret_cast<const char*>(&positions[2 * i]), 16);
      }
    }
    MPI_Barrier(comm);
  }
}

void simulate(cairn::Session& session, int steps, int dies_at, int dies, const std::string& file) {
  const MPI_Comm comm = session.comm();
  const auto rank = static_cast<int>(session.rank());
  const auto size = static_cast<int>(session.size());
  const Block block(rank, size);
  std::vector<double> cells(block.rows.count * block.columns.count, 0.0);
  const Range mine = share_of(kParticles, rank, size);
  std::vector<std::uint64_t> ids(mine.count);
  std::iota(ids.begin(), ids.end(), mine.first);
  std::vector<double> positions(2 * ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i) {
    positions[2 * i] = static_cast<double>(ids[i]);
    positions[2 * i + 1] = 1;
  }
  std::int64_t step = 0;
  session.protect("plate", cells.data(), {block.rows.count, block.columns.count},
                  cairn::GlobalPlace{{kRows, kColumns}, {block.rows.first, block.columns.first}});
  session.protect("ids", ids, cairn::sequence);
  session.protect("positions", positions, cairn::like("ids"));
  session.protect("step", step, cairn::same);
  const cairn::RestoreReport report = session.restore();
  if (rank == 0 && report.restored) {
    std::printf("continues at step %d, of %u ranks\n", static_cast<int>(step), report.old_ranks);
    std::fflush(stdout);
  }
  while (step < steps) {
    relax(block, cells, whole(block, cells, comm));
    for (std::size_t i = 0; i < ids.size(); ++i) {
      positions[2 * i] += 0.25 * positions[2 * i + 1];
      positions[2 * i + 1] = 1 - 0.001 * positions[2 * i];
    }
    ++step;
    if (step == dies_at && rank == dies) raise(SIGKILL);
    session.snapshot();
  }
  write(file, whole(block, cells, comm), ids, positions, comm);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int code = cairn::run(MPI_COMM_WORLD, argv[1], [&](cairn::Session& session) {
    simulate(session, std::atoi(argv[2]), std::atoi(argv[3]), std::atoi(argv[4]), argv[5]);
  });
  MPI_Finalize();
  return code;
}
