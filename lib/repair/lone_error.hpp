// An error of one process alone, which the other processes know nothing of: they wait for it.
#pragma once

#include <mpi.h>

#include <exception>

#include "repair/resilient.hpp"

namespace cairn {

// Ends the job, with the reason. `job`: null if it does not repair itself.
[[noreturn]] void end_for_lone_error(MPI_Comm world, Resilient* job, const std::exception& error);

}  // namespace cairn
