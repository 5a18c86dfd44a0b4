// Two jobs in one program, each with a session on a half of the ranks, as coupled codes have. The first takes few steps
// and finishes; the second goes on. In the first life its last rank dies then.
//
//   two_sessions DIRECTORY: with first.ini and second.ini; notes in DIRECTORY which job has finished, and from which
//   step each life of a job goes on.
#include <mpi.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <cairn/cairn.hpp>

namespace {

namespace fs = std::filesystem;

constexpr int kSteps = 10;

void note(const fs::path& file, const std::string& line) { std::ofstream(file, std::ios::app) << line << "\n"; }

void compute(cairn::Session& session, const fs::path& directory, bool is_first) {
  const std::string name = is_first ? "first" : "second";
  std::vector<double> state(1000);
  int step = 0;
  session.protect("state", state);
  session.protect("step", step);
  session.restore();
  if (session.rank() == 0) note(directory / "log", name + " continues at " + std::to_string(step));
  while (step < kSteps) {
    ++step;
    state.assign(state.size(), step);
    session.snapshot();
    session.wait(cairn::LevelId::local);
    if (is_first || step != kSteps / 2 || fs::exists(directory / "struck")) continue;
    while (!fs::exists(directory / "first_finished")) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    MPI_Barrier(session.comm());
    if (session.rank() != session.size() - 1) continue;
    note(directory / "struck", "");
    (void)::kill(::getpid(), SIGKILL);
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const fs::path directory = argv[1];
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const bool is_first = rank < size / 2;
  MPI_Comm half = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, is_first ? 0 : 1, rank, &half);
  const int code = cairn::run(half, (directory / (is_first ? "first.ini" : "second.ini")).string(),
                              [&](cairn::Session& session) { compute(session, directory, is_first); });
  if (is_first && rank == 0) note(directory / "first_finished", "");
  MPI_Comm_free(&half);
  MPI_Finalize();
  return code;
}
