// What a user of the installed library writes in C++: counts to ten. With "die" it dies at five; with "world" it makes
// the mistake of a collective call on MPI_COMM_WORLD, in which heads take no part.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <mpi.h>

#include <cairn/cairn.hpp>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const std::string what = argc > 1 ? argv[1] : "";
  const int code = cairn::run(MPI_COMM_WORLD, "program.ini", [&what](cairn::Session& session) {
    std::vector<double> state(1000);
    int step = 0;
    session.protect("state", state);
    session.protect("step", step);
    session.restore();
    const int start = step;
    while (step < 10) {
      double sum = step;
      MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, what == "world" ? MPI_COMM_WORLD : session.comm());
      ++step;
      session.snapshot();
      session.wait(cairn::LevelId::local);
      if (what == "die" && step == 5) std::abort();
    }
    try {
      session.unprotect("nothing");
    } catch (const cairn::Exception& error) {  // the library throws it, and the program knows its type
      if (session.rank() == 0) std::printf("from %d to %d on %d ranks\n", start, step, session.size());
    }
  });
  MPI_Finalize();
  return code;
}
