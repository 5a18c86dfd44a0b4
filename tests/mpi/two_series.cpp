// Two series of snapshots in one program, as where results are kept apart from the state: each has a session and a job
// name of its own. The state of each step is in a snapshot, the sums of each fifth step in one of the other series.
//
//   two_series DIRECTORY STEPS [DIES]: with state.ini and sums.ini. In step DIES, rank 1 dies, once. THREADS in the
//   environment: MPI_THREAD_MULTIPLE.
#include <mpi.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <string>
#include <vector>

#include <cairn/cairn.hpp>

namespace {

namespace fs = std::filesystem;

constexpr int kEvery = 5;

void die_once(const fs::path& struck) {
  if (fs::exists(struck)) return;
  std::ofstream(struck).put('1');
  (void)::kill(::getpid(), SIGKILL);
}

void compute(const fs::path& directory, int steps, int dies) {
  const auto state = cairn::Session::open(MPI_COMM_WORLD, (directory / "state.ini").string());
  if (!state) return;
  const auto results = cairn::Session::open(state->comm(), (directory / "sums.ini").string());
  int step = 0;
  std::vector<double> field(1000);
  std::vector<double> sums;
  state->protect("step", step);
  state->protect("field", field);
  results->protect("sums", sums);
  state->restore();
  results->restore();
  if (state->rank() == 0) std::printf("from step %d with %zu sums\n", step, sums.size());
  while (step < steps) {
    ++step;
    for (double& cell : field) cell += state->rank() + step;
    state->snapshot();
    if (step % kEvery == 0) {
      sums.resize(step / kEvery);
      sums.back() = std::accumulate(field.begin(), field.end(), 0.0);
      results->snapshot();
    }
    if (step == dies && state->rank() == 1) die_once(directory / "struck");
  }
  results->finalize();
  state->finalize();
  if (state->rank() == 0) std::printf("sums: %zu, the last is %.0f\n", sums.size(), sums.back());
}

}  // namespace

int main(int argc, char** argv) {
  int provided = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, std::getenv("THREADS") == nullptr ? MPI_THREAD_SINGLE : MPI_THREAD_MULTIPLE, &provided);
  try {
    compute(argv[1], std::atoi(argv[2]), argc > 3 ? std::atoi(argv[3]) : 0);
  } catch (const std::exception& error) {
    std::printf("error: %s\n", error.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
}
