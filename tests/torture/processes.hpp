// A cluster of MPI processes on this machine, with stores in directories: torture_program plays the lives, mpirun
// starts it. What fails is what can be done from outside: processes and mpirun are killed or stopped, stores are wiped
// or go away meanwhile. A job that does not end in time is reported, and killed.
#pragma once

#include <memory>
#include <string>

#include "torture/cluster.hpp"

namespace cairn::torture {

struct Programs {
  std::string mpirun;
  std::string program;  // torture_program
};

// For one scenario, of which `items` ("none", or numbers) are left out. Its stores are in a directory of their own.
[[nodiscard]] std::unique_ptr<Cluster> make_process_cluster(const Programs& programs, std::uint64_t seed,
                                                            const std::string& items);

}  // namespace cairn::torture
