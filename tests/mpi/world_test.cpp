// What becomes of calls on MPI_COMM_WORLD, and on communicators made of it, inside a session:
//
//   world CASE
//
// allreduce, grid, session, run: a collective. message, message_before, barrier_before: a call that meets a head, on
// MPI_COMM_WORLD or on a communicator made of it before. messages: such calls that meet none. finalized: one after the
// session has been finalized. unfinished: none, but the session outlives MPI. one_ends_MPI, one_drops: the same on rank
// 1 alone, or it drops its session, while the others go on with snapshots until they hear of it. The configuration
// comes from the environment.
#include <cstdio>
#include <memory>
#include <string>

#include <cairn/cairn.hpp>

namespace {

// Rank 3 is a head. `reversed`: the world in reverse, made before the session opened.
void communicate(const cairn::Session& session, const std::string& what, MPI_Comm reversed) {
  int value = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  if (what == "message" && session.rank() == 0) MPI_Send(&value, 1, MPI_INT, 3, 0, MPI_COMM_WORLD);
  if (what == "message_before" && session.rank() == 0) {
    MPI_Irecv(&value, 1, MPI_INT, 0, 0, reversed, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  if (what == "barrier_before") MPI_Barrier(reversed);
  if (what != "messages") return;
  const auto me = static_cast<int>(session.rank());
  MPI_Sendrecv_replace(&value, 1, MPI_INT, (me + 1) % 3, 0, (me + 2) % 3, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Sendrecv_replace(&value, 1, MPI_INT, 3 - (me + 1) % 3, 0, 3 - (me + 2) % 3, 0, reversed, MPI_STATUS_IGNORE);
  MPI_Send(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
}

void compute(cairn::Session& session, const std::string& what) {
  int one = 1;
  int all = 0;
  session.protect("one", one);
  session.restore();
  session.snapshot();
  if (what == "allreduce") MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (what == "session") cairn::Session::open(MPI_COMM_WORLD, "");
  if (what == "run") (void)cairn::run(MPI_COMM_WORLD, "", [](cairn::Session&) {});
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
  int me = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm reversed = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, 0, -me, &reversed);
  auto session = cairn::Session::open(MPI_COMM_WORLD, "");
  bool leaves = false;
  if (session) {
    compute(*session, what);
    communicate(*session, what, reversed);
    leaves = leave_or_finalize(session, what);
    if (what == "finalized") MPI_Barrier(MPI_COMM_WORLD);
  } else if (what == "finalized") {
    MPI_Barrier(MPI_COMM_WORLD);
  }
  if (!leaves) session.reset();
  MPI_Finalize();
  session.reset();
  if (me == 0) std::printf("world: came to its end\n");
  return 0;
}
