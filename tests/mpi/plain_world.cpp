// A program as it is without Cairn: all its communication is on MPI_COMM_WORLD and what it makes from there. What Cairn
// needs of it is the lines with `session`.
//
//   plain_world CONFIG OUTPUT STEPS PAUSE_MS
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include <mpi.h>
#include <cairn/cairn.hpp>

namespace {

constexpr int kCells = 64;

// Communicators, a window and the result's file, made from MPI_COMM_WORLD.
struct World {
  int size = 0;
  int rank = 0;
  MPI_Comm grid = MPI_COMM_NULL;
  MPI_Comm row = MPI_COMM_NULL;
  MPI_Win window = MPI_WIN_NULL;
  double* inbox = nullptr;  // The window's memory, MPI's.

  World() {
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    std::array<int, 2> lengths{};
    const std::array<int, 2> periodic{1, 1};
    MPI_Dims_create(size, 2, lengths.data());
    MPI_Cart_create(MPI_COMM_WORLD, 2, lengths.data(), periodic.data(), 0, &grid);
    MPI_Comm_split(MPI_COMM_WORLD, rank / lengths[1], rank, &row);
    // Where processes cannot read each other's memory, Open MPI 4.1 makes windows of memory of its own only.
    MPI_Win_allocate(kCells * sizeof(double), sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD, &inbox, &window);
    std::fill_n(inbox, kCells, 0.0);
  }
  void free() {
    MPI_Win_free(&window);
    MPI_Comm_free(&row);
    MPI_Comm_free(&grid);
  }
};

// One step: from the neighbours on the grid, the mean of a row and of all, and what the next rank puts here.
void relax(World& world, std::vector<double>& cells, int step) {
  std::vector<double> from(cells.size());
  for (int direction = 0; direction < 2; ++direction) {
    int source = MPI_PROC_NULL;
    int target = MPI_PROC_NULL;
    MPI_Cart_shift(world.grid, direction, 1, &source, &target);
    MPI_Sendrecv(cells.data(), kCells, MPI_DOUBLE, target, direction, from.data(), kCells, MPI_DOUBLE, source,
                 direction, world.grid, MPI_STATUS_IGNORE);
    for (int i = 0; i < kCells; ++i) cells[i] = std::fma(0.25, from[i] - cells[(i + 1) % kCells], cells[i]);
  }
  double sums[] = {cells[0], cells[1]};
  MPI_Allreduce(MPI_IN_PLACE, &sums[0], 1, MPI_DOUBLE, MPI_SUM, world.row);
  MPI_Allreduce(MPI_IN_PLACE, &sums[1], 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  MPI_Win_fence(0, world.window);
  MPI_Put(cells.data(), kCells, MPI_DOUBLE, (world.rank + step) % world.size, 0, kCells, MPI_DOUBLE, world.window);
  MPI_Win_fence(0, world.window);
  for (int i = 0; i < kCells; ++i) cells[i] += 0.001 * (world.inbox[i] + sums[0] - sums[1]);
}

void write(const World& world, const std::vector<double>& cells, const char* output) {
  MPI_File file = MPI_FILE_NULL;
  MPI_File_open(MPI_COMM_WORLD, output, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file);
  const auto bytes = static_cast<MPI_Offset>(cells.size() * sizeof(double));
  MPI_File_write_at_all(file, world.rank * bytes, cells.data(), kCells, MPI_DOUBLE, MPI_STATUS_IGNORE);
  MPI_File_close(&file);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc < 5) {
    std::puts("plain_world CONFIG OUTPUT STEPS PAUSE_MS");
    MPI_Finalize();
    return 0;
  }
  const int steps = std::atoi(argv[3]);
  World world;
  std::vector<double> cells(kCells);
  for (int i = 0; i < kCells; ++i) cells[i] = std::sin(i + world.rank);
  int step = 0;
  const auto session = cairn::Session::open(MPI_COMM_WORLD, argv[1]);
  session->protect("cells", cells);
  session->protect("step", step);
  session->restore();
  if (world.rank == 0) std::printf("%d ranks begin at step %d\n", world.size, step);
  std::fflush(stdout);
  while (step < steps) {
    relax(world, cells, step);
    ++step;
    session->snapshot();
    std::this_thread::sleep_for(std::chrono::milliseconds(std::atoi(argv[4])));
    if (world.rank == 0 && step % 10 == 0) std::printf("step %d of %d\n", step, steps);
    std::fflush(stdout);
  }
  write(world, cells, argv[2]);
  session->finalize();
  world.free();
  MPI_Finalize();
  return 0;
}
