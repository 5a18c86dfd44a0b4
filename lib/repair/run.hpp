// What cairn::run does, with the reason of its end, for applications in C.
#pragma once

#include <mpi.h>

#include <cstdlib>
#include <functional>
#include <string>

#include <cairn/cairn.hpp>

namespace cairn {

// An error that the log has already: run_application() does not log it again.
class LoggedError final : public Exception {
 public:
  using Exception::Exception;
};

// Why a process in a job that repairs itself cannot open a session.
inline constexpr const char* kHasSession =
    "this process has a session already, in a job that repairs itself: it cannot open another one inside cairn::run or "
    "cairn_run, or before cairn_finalize";

struct Ending {
  int code = EXIT_SUCCESS;  // the exit code for the program
  std::string why = {};     // it failed, as far as this process knows
};

// As run(). Collective over `world`.
[[nodiscard]] Ending run_application(MPI_Comm world, const std::string& config,
                                     const std::function<void(Session&)>& application, const ComputePart& compute_part);

}  // namespace cairn
