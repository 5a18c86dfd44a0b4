// The MPI library that this program runs with.
#pragma once

#include "base/error.hpp"

namespace cairn {

// Refuses it where it is of another kind than the one that Cairn was built with: their handles differ. Local.
[[nodiscard]] Status check_mpi_library();

}  // namespace cairn
