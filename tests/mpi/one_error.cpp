// Makes the mistake that its argument names, as a program that ends by the code of cairn::run. See one_error.py.
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include <mpi.h>

#include <cairn/cairn.hpp>

namespace {

void live(cairn::Session& session, const std::string& mistake) {
  std::vector<double> state(1000);
  session.protect(mistake == "region" ? "other" : "state", state);
  session.restore();
  if (mistake == "all") throw std::runtime_error("all ranks have had enough");
  if (mistake == "one" && session.rank() == 1) throw std::runtime_error("this rank has had enough");
  if (mistake == "usage") session.unprotect("nothing");
  for (int step = 0; step < 5; ++step) {
    session.snapshot();
    MPI_Barrier(session.comm());
  }
  session.wait(cairn::LevelId::local);
  if (mistake == "die") std::abort();
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const std::string mistake = argc > 1 ? argv[1] : "";
  const int code = cairn::run(MPI_COMM_WORLD, "job.ini", [&](cairn::Session& session) { live(session, mistake); });
  MPI_Finalize();
  return code;
}
