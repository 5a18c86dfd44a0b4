// The MPI library that Cairn was built with, and the one that this program runs with. Local.
#pragma once

#include "base/error.hpp"

namespace cairn {

// "Open MPI 4.1.4"
[[nodiscard]] const char* mpi_built_with();

// Refuses a program that runs with another kind of MPI: its handles differ.
[[nodiscard]] Status check_mpi_library();

}  // namespace cairn
