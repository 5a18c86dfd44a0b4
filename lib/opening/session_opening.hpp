// What a Session is opened with, beyond what applications say.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <cairn/cairn.hpp>

#include "mpi/launcher.hpp"
#include "mpi/lifeline.hpp"
#include "rollback/repairs.hpp"
#include "session/environment.hpp"

namespace cairn {

struct Session::Opening {
  MPI_Comm world = MPI_COMM_NULL;
  MPI_Comm ranks = MPI_COMM_NULL;         // the application's communicator; null: one is made
  std::optional<std::string> served_job;  // that of another session, which has the heads: this one has none
  std::string config_file;                // where `repaired` does not have the configuration
  FailureTopology failures;
  MPI_Errhandler errhandler = MPI_ERRHANDLER_NULL;  // of the application's communicator; null: as `world` has it
  // In a job that repairs itself:
  std::optional<Launcher> launcher;  // otherwise what rank 0 of the world knows
  std::optional<RepairedWorld> repaired;
  std::shared_ptr<Lifeline> lifeline;
  std::shared_ptr<StoreMemory> memory;  // of this process's node, beyond the session
  State state = State::fresh;
  rollback::Repairs* repairs = nullptr;
  bool throws = true;  // how the application is told: by exceptions out of MPI calls, or by their return codes
  std::function<void()> failed_by_code;  // runs each time that it is told by a code
};

}  // namespace cairn
