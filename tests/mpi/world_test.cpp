// What becomes of collectives on MPI_COMM_WORLD inside a session:
//
//   world CASE
//
// allreduce, grid: such a call. finalized: one after the session has been finalized. unfinished: none, but the session
// outlives MPI. one_ends_MPI, one_drops: the same on rank 1 alone, or it drops its session, while the others go on with
// snapshots until they hear of it. The configuration comes from the environment.
#include <cstdio>
#include <memory>
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

// What the first call that knows of it tells, and what finalize does.
void go_on(cairn::Session& session) {
  const auto tell = [&](const cairn::Exception& error) {
    if (session.rank() == 0) std::printf("world: %s\n", error.what());
  };
  for (bool told = false; !told;) {
    try {
      session.snapshot();
    } catch (const cairn::Exception& error) {
      told = true;
      tell(error);
    }
  }
  try {
    session.finalize();
  } catch (const cairn::Exception& error) {
    tell(error);
  }
}

// Whether the session is left as it is.
bool leave_or_finalize(std::unique_ptr<cairn::Session>& session, const std::string& what) {
  if (what == "unfinished") {
    // A rank that is also a head must not leave while another one is in a call.
    MPI_Barrier(session->comm());
    return true;
  }
  if (!what.starts_with("one_")) {
    session->finalize();
  } else if (session->rank() != 1) {
    go_on(*session);
  } else {
    if (what == "one_drops") session.reset();
    return true;
  }
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  int provided = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  auto session = cairn::Session::open(MPI_COMM_WORLD, "");
  bool leaves = false;
  if (session) {
    compute(*session, what);
    leaves = leave_or_finalize(session, what);
    if (what == "finalized") MPI_Barrier(MPI_COMM_WORLD);
  } else if (what == "finalized") {
    MPI_Barrier(MPI_COMM_WORLD);
  }
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (!leaves) session.reset();
  MPI_Finalize();
  session.reset();
  if (rank == 0) std::printf("world: came to its end\n");
  return 0;
}
