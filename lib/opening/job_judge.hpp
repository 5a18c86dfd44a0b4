// Whose the errors of a process's communicators and windows are, in a job that repairs itself: for all its sessions.
#pragma once

#include <mpi.h>

#include "guard/repair_calls.hpp"
#include "mpi/failure_handler.hpp"
#include "tap/error_handlers.hpp"

namespace cairn {

class JobJudge final : public tap::ErrorJudge {
 public:
  Tells judge_comm(MPI_Comm comm, int code) override { return FailureHandler::judge(comm, code); }
  Tells judge_window(MPI_Win /*window*/, int code) override { return RepairCalls::judge_window(code); }
};

}  // namespace cairn
