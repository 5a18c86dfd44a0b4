// A cluster of MPI processes on this machine, with stores in directories: torture_program plays the lives, or heat
// does, and mpirun starts it, or ckpt-run. What fails is what can be done from outside (strikes). A job that does not
// end in time, or leaves something when it has ended, is reported; what is left is killed.
#pragma once

#include <memory>
#include <string>

#include "torture/cluster.hpp"
#include "torture/mpi/starter.hpp"
#include "torture/mpi/tally.hpp"

namespace cairn::torture {

// For one scenario, of which `items` ("none", or numbers) are left out. Its stores are in a directory of their own.
[[nodiscard]] std::unique_ptr<Cluster> make_process_cluster(const Programs& programs, Tally& tally,
                                                            const Scenario& scenario, const std::string& items);

}  // namespace cairn::torture
