// A program whose session is not over all ranks as MPI_COMM_WORLD has them, and which gets the stop signal.
//
//   stop HOW CONFIG MORE: HOW is the session's communicator, half of the ranks or all in another order; or `handles`:
//   all ranks, and a handler of the program's own for SIGUSR1, which it sets after MPI_Init, as many do. A run that
//   begins anew works until it is stopped, another one for MORE steps.
#include <mpi.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include <cairn/cairn.hpp>

namespace {

constexpr int kUntilStopped = 10'000;  // of at least 20 ms each

volatile std::sig_atomic_t signals = 0;

// Says so at the first step after a signal of its own.
void note_signals(int rank) {
  if (signals == 0) return;
  signals = 0;
  std::printf("stop: rank %d has handled SIGUSR1\n", rank);
  std::fflush(stdout);
}

void compute(cairn::Session& session, int more) {
  std::vector<double> state(1000);
  int step = 0;
  session.protect("state", state);
  session.protect("step", step);
  session.restore();
  if (session.rank() == 0) std::printf("stop: begins at step %d\n", step);
  const int end = step == 0 ? kUntilStopped : step + more;
  while (step < end && !session.should_stop()) {
    ++step;
    session.snapshot();
    note_signals(session.rank());
    if (session.rank() == 0 && step % 10 == 0) std::printf("stop: step %d\n", step);
    std::fflush(stdout);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  session.finalize();
  if (session.rank() == 0) std::printf("stop: ends at step %d\n", step);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const std::string how = argc > 1 ? argv[1] : "";
  if (how == "handles") std::signal(SIGUSR1, [](int /*signal*/) { signals = 1; });
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const bool is_in = how != "half" || rank < size / 2;
  MPI_Comm comm = MPI_COMM_WORLD;
  if (how != "handles") MPI_Comm_split(MPI_COMM_WORLD, is_in ? 0 : 1, how == "order" ? size - rank : rank, &comm);
  if (is_in) compute(*cairn::Session::open(comm, argc > 2 ? argv[2] : ""), argc > 3 ? std::atoi(argv[3]) : 0);
  // The others wait for those with a session.
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
