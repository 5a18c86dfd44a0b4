// Another tool that hears MPI's calls, linked with the application or as a library of its own, loses none of them by
// the tap, and the tap none by it: exit code 0. The tool is other_tool.c.
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <mpi.h>

#include "other_tool.h"
#include "tap/family.hpp"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const std::size_t heard = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 0;
  std::vector<MPI_Comm> told;
  MPI_Comm made = MPI_COMM_NULL;
  bool is_member = false;
  {
    const cairn::tap::Family family(MPI_COMM_WORLD, [&](MPI_Comm comm) { told.push_back(comm); });
    MPI_Comm_dup(MPI_COMM_WORLD, &made);
    is_member = family.has(made);
  }
  const int calls = other_tool_calls();
  const bool good = calls == 1 && is_member && told.size() == heard && told.back() == made;
  if (!good) std::fprintf(stderr, "the tool saw %d calls, the tap %zu\n", calls, told.size());
  MPI_Comm_free(&made);
  MPI_Finalize();
  return good ? 0 : 1;
}
