// A small application for lost.py, as many people write one: rank 0 gives each other rank some work, and takes results
// of any rank. All errors are fatal to it, and it looks at no code that MPI returns.
//
//   lost_master polls|barrier --steps N --config FILE --output FILE --pause-ms N
//
// polls: rank 0 asks MPI again and again whether there is a result.
// barrier: all ranks meet between restore() and the loop, though those that have survived a failure do not come.
// It shows what it has computed as lost_steps does.
#include <mpi.h>

#include <cstdint>
#include <thread>
#include <vector>

#include <cairn/cairn.hpp>

#include "lost_program.hpp"
#include "options.hpp"

namespace {

using lost::mix;

constexpr int kWork = 1;
constexpr int kResult = 2;

// Results come in any order, so their sum is one that does not depend on it.
std::uint64_t share_out(MPI_Comm comm, int workers, std::uint64_t sum, bool polls) {
  for (int worker = 1; worker <= workers; ++worker) {
    const std::uint64_t work = mix(sum, static_cast<std::uint64_t>(worker));
    MPI_Send(&work, 1, MPI_UINT64_T, worker, kWork, comm);
  }
  for (int open = workers; open > 0;) {
    int found = 1;
    MPI_Status status;
    if (polls)
      MPI_Iprobe(MPI_ANY_SOURCE, kResult, comm, &found, &status);
    else
      MPI_Probe(MPI_ANY_SOURCE, kResult, comm, &status);
    if (found == 0) {
      std::this_thread::yield();
      continue;
    }
    std::uint64_t result = 0;
    MPI_Recv(&result, 1, MPI_UINT64_T, status.MPI_SOURCE, kResult, comm, MPI_STATUS_IGNORE);
    sum += result;
    --open;
  }
  return sum;
}

std::uint64_t work(MPI_Comm comm, std::uint64_t sum) {
  std::uint64_t given = 0;
  MPI_Recv(&given, 1, MPI_UINT64_T, 0, kWork, comm, MPI_STATUS_IGNORE);
  sum = mix(sum, given);
  MPI_Send(&sum, 1, MPI_UINT64_T, 0, kResult, comm);
  return sum;
}

void compute(cairn::Session& session, const Options& options) {
  MPI_Comm comm = session.comm();
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_ARE_FATAL);
  const lost::Place at(comm);
  std::int64_t step = 0;
  std::uint64_t sum = session.rank();
  session.protect("step", step);
  session.protect("sum", sum);
  session.restore();
  if (options.what == "barrier") MPI_Barrier(comm);
  lost::take_steps(session, options, step, [&] {
    sum = at.rank == 0 ? share_out(comm, at.size - 1, sum, options.what == "polls") : work(comm, sum);
    return sum;
  });
  lost::write_sums(options.output, sum, session);
}

}  // namespace

int main(int argc, char** argv) { return lost::run(argc, argv, compute); }
