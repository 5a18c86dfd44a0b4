// What becomes of collectives on MPI_COMM_WORLD inside a session:
//
//   world CASE
//
// allreduce, grid: such a call. finalized: one after the session has been finalized. unfinished: none, but the session
// outlives MPI. The configuration comes from the environment.
#include <cstdio>
#include <string>

#include <cairn/cairn.hpp>

namespace {

void compute(cairn::Session& session, const std::string& what) {
  int one = 1;
  int all = 0;
  session.protect("one", one);
  session.restore();
  session.snapshot();
  if (what == "allreduce") MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (what == "grid") {
    MPI_Comm grid = MPI_COMM_NULL;
    const int lengths[] = {4};
    const int periodic[] = {0};
    MPI_Cart_create(MPI_COMM_WORLD, 1, lengths, periodic, 0, &grid);
    MPI_Comm_free(&grid);
  }
  // Each of some ranks alone.
  MPI_Group group = MPI_GROUP_NULL;
  MPI_Group alone = MPI_GROUP_NULL;
  MPI_Comm_group(MPI_COMM_WORLD, &group);
  int me = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Group_incl(group, 1, &me, &alone);
  MPI_Comm mine = MPI_COMM_NULL;
  MPI_Comm_create_group(MPI_COMM_WORLD, alone, 0, &mine);
  MPI_Comm_free(&mine);
  MPI_Group_free(&alone);
  MPI_Group_free(&group);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  int provided = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  auto session = cairn::Session::open(MPI_COMM_WORLD, "");
  if (session) {
    compute(*session, what);
    if (what != "unfinished") session->finalize();
    if (what == "finalized") MPI_Barrier(MPI_COMM_WORLD);
  } else if (what == "finalized") {
    MPI_Barrier(MPI_COMM_WORLD);
  }
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (what != "unfinished") session.reset();
  MPI_Finalize();
  session.reset();
  if (rank == 0) std::printf("world: came to its end\n");
  return 0;
}
