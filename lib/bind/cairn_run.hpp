// cairn_run, as the C API and the Fortran module call it.
#pragma once

#include <mpi.h>

#include <cairn/cairn.h>

#include "bind/parts.hpp"

namespace cairn::bind {

using Code = void (*)();

struct Program {
  cairn_application function;
  void* argument;
  Code code;  // the application's own function: an exception leaves it after a failure
  ComputePart compute;
};

// As cairn_run. Collective over `world`.
[[nodiscard]] int run_in(MPI_Comm world, const char* config, const Program& program);

}  // namespace cairn::bind
