// What local rollback is made of ([recovery] rollback = lost). A library can be built without it: then there is none of
// this (CMake's option CAIRN_LOCAL_ROLLBACK).
#pragma once

#include <mpi.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "base/log.hpp"
#include "mpi/lifeline.hpp"
#include "mpi/logged_messages.hpp"
#include "rollback/helpers.hpp"
#include "rollback/logged_rank.hpp"
#include "rollback/lost_work.hpp"
#include "rollback/repairs.hpp"
#include "session/environment.hpp"
#include "tap/collectives.hpp"

namespace cairn {

struct LocalRollback {
  MakeLoggedRank rank;
  // `stays`: a process has died; repairs the job inside the call. True: this rank goes on. If all ranks roll back, it
  // throws, or returns false where the application gets MPI's codes.
  struct MessageSetting {
    MPI_Comm comm = MPI_COMM_NULL;  // the application's
    MPI_Comm own = MPI_COMM_NULL;   // Cairn's, of the same ranks
    rollback::LoggedRank& rank;     // must outlive the messages
    std::function<bool()> stays;
    std::function<void(MPI_Comm)> adopts;       // a communicator to be revoked after a failure
    std::chrono::milliseconds limit;            // of a catch-up that stands still
    bool has_threads = false;                   // several threads may make calls
    std::function<std::string()> present_call;  // of the application
    Log log;
  };
  std::function<std::unique_ptr<LoggedMessages>(MessageSetting setting, std::shared_ptr<Lifeline> lifeline)> messages;
  std::function<std::unique_ptr<rollback::Helpers>(rollback::Helpers::Setting setting)> helpers;
  // A collective call of the lost rank, which a part of it makes. Throws: see LostCollectives.
  std::function<void(rollback::LostWork& work, const tap::collectives::Any& call)> collective;
};

// Null: this library has none.
[[nodiscard]] const LocalRollback* local_rollback();

}  // namespace cairn
