// A program that uses MPI_COMM_WORLD and what it makes from there, in a job that repairs itself ([job] world =
// application). Every life looks at its world first, also one that replaces a dead rank. MPI errors are to end the
// program, as it says before anything else.
//
//   world_repair computes --steps N --config FILE --output FILE --pause-ms N
//   world_repair window ...     the same with a window
//   world_repair fence ...      the same; the program frees it, and rank 1 dies when the others are in a fence
//   world_repair early ...      communicates before cairn::run
//   world_repair nothing ...    opens no session
//   world_repair late ...       comes to cairn::run when there is a file "go", and says so before
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <mpi.h>
#include <unistd.h>
#include <cairn/cairn.hpp>

#include "options.hpp"

namespace {

constexpr int kCells = 64;
constexpr int kRanks = 4;

// What the application made of MPI_COMM_WORLD before the job began: MPI keeps it on the handle.
void look_at_world(const char* when) {
  int size = 0;
  int rank = -1;
  int length = 0;
  std::array<char, MPI_MAX_OBJECT_NAME> name{};
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_get_name(MPI_COMM_WORLD, name.data(), &length);
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  MPI_Comm_get_errhandler(MPI_COMM_WORLD, &handler);
  const bool is_fatal = handler == MPI_ERRORS_ARE_FATAL;
  MPI_Errhandler_free(&handler);
  if (size == kRanks && rank >= 0 && rank < kRanks && std::string(name.data()) == "MPI_COMM_WORLD" && is_fatal) return;
  std::printf("world: %s: rank %d of %d in %s, errors are %s\n", when, rank, size, name.data(),
              is_fatal ? "fatal" : "not fatal");
  MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
}

struct World {
  int rank = 0;
  MPI_Comm grid = MPI_COMM_NULL;
  MPI_Comm row = MPI_COMM_NULL;
  MPI_Win window = MPI_WIN_NULL;
  double* inbox = nullptr;  // the window's memory, MPI's

  bool frees_window = false;  // otherwise MPI_Finalize does

  World(bool has_window, bool frees) : frees_window(frees) {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const std::array<int, 2> lengths{2, 2};
    const std::array<int, 2> periodic{1, 1};
    MPI_Cart_create(MPI_COMM_WORLD, 2, lengths.data(), periodic.data(), 0, &grid);
    MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &row);
    if (!has_window) return;
    MPI_Win_allocate(kCells * sizeof(double), sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD, &inbox, &window);
    std::fill_n(inbox, kCells, 0.0);
  }
  ~World() {
    if (frees_window) MPI_Win_free(&window);
  }
  World(const World&) = delete;
  World& operator=(const World&) = delete;
};

// Once in all lives of the job.
void die_of_a_window() {
  if (std::filesystem::exists("has_died")) return;
  std::ofstream("has_died").flush();
  std::this_thread::sleep_for(std::chrono::milliseconds(100));  // the others come to the fence
  std::puts("world: rank 1 dies");
  std::fflush(stdout);
  (void)std::raise(SIGKILL);
}

void relax(const World& world, std::vector<double>& cells, bool dies) {
  std::vector<double> from(cells.size());
  for (int direction = 0; direction < 2; ++direction) {
    int source = MPI_PROC_NULL;
    int target = MPI_PROC_NULL;
    MPI_Cart_shift(world.grid, direction, 1, &source, &target);
    MPI_Sendrecv(cells.data(), kCells, MPI_DOUBLE, target, direction, from.data(), kCells, MPI_DOUBLE, source,
                 direction, world.grid, MPI_STATUS_IGNORE);
    for (int i = 0; i < kCells; ++i) cells[i] = std::fma(0.25, from[i] - cells[(i + 1) % kCells], cells[i]);
  }
  std::array<double, 2> sums{cells[0], cells[1]};
  MPI_Allreduce(MPI_IN_PLACE, &sums[0], 1, MPI_DOUBLE, MPI_SUM, world.row);
  MPI_Allreduce(MPI_IN_PLACE, &sums[1], 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  for (double& cell : cells) cell += 0.001 * (sums[0] - sums[1]);
  if (world.window == MPI_WIN_NULL) return;
  MPI_Win_fence(0, world.window);
  MPI_Put(cells.data(), kCells, MPI_DOUBLE, (world.rank + 1) % kRanks, 0, kCells, MPI_DOUBLE, world.window);
  if (dies) die_of_a_window();
  MPI_Win_fence(0, world.window);
  for (int i = 0; i < kCells; ++i) cells[i] += 0.001 * world.inbox[i];
}

void write(const World& world, const std::vector<double>& cells, const std::string& output) {
  MPI_File file = MPI_FILE_NULL;
  MPI_File_open(MPI_COMM_WORLD, output.c_str(), MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file);
  const auto bytes = static_cast<MPI_Offset>(cells.size() * sizeof(double));
  MPI_File_write_at_all(file, world.rank * bytes, cells.data(), kCells, MPI_DOUBLE, MPI_STATUS_IGNORE);
  MPI_File_close(&file);
}

void compute(cairn::Session& session, const Options& options) {
  look_at_world("in a session");
  const bool dies_there = options.what == "fence";
  const World world(options.what == "window" || dies_there, dies_there);
  std::vector<double> cells(kCells);
  for (int i = 0; i < kCells; ++i) cells[i] = std::sin(i + world.rank);
  long step = 0;
  session.protect("cells", cells);
  session.protect("step", step);
  session.restore();
  if (world.rank == 0) std::printf(step > 0 ? "world: continues at step %ld:\n" : "world: starts at step %ld\n", step);
  std::fflush(stdout);
  while (step < options.steps) {
    relax(world, cells, dies_there && world.rank == 1 && step == options.steps / 2);
    ++step;
    std::this_thread::sleep_for(std::chrono::milliseconds(options.pause_ms));
    session.snapshot();
  }
  write(world, cells, options.output);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  const Options options = parse(argc, argv);
  look_at_world("before the session");
  if (options.what == "early") MPI_Barrier(MPI_COMM_WORLD);
  if (options.what == "nothing") {
    MPI_Finalize();
    return EXIT_SUCCESS;
  }
  if (options.what == "late") {
    std::printf("world: process %d waits\n", static_cast<int>(getpid()));
    std::fflush(stdout);
    while (!std::filesystem::exists("go")) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  const int code =
      cairn::run(MPI_COMM_WORLD, options.config, [&](cairn::Session& session) { compute(session, options); });
  look_at_world("after the session");
  int sum = 0;
  const int one = 1;
  if (MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD) != MPI_SUCCESS || sum != kRanks)
    std::puts("world: no communication after the session");
  MPI_Finalize();
  return code;
}
