// Starts new processes of this program that replace dead ones ([recovery] mode = respawn).
//
// One survivor starts them, because a start over all survivors hangs when another one dies meanwhile. A failure on one
// side must reach the other side. Survivors agree after every step, and revoke what was made if it failed. Newcomers
// end if anything fails before they get their roles.
#pragma once

#include <mpi.h>

#include "base/error.hpp"
#include "mpi/ulfm_comm.hpp"

namespace cairn::respawn {

// In the environment of every process that a pool has started, and of no other.
inline constexpr const char* kPoolVariable = "CAIRNPOOL";
// Ends its value in a job with [job] world = application.
inline constexpr const char* kReplacesWorld = "+world";

// Collective over `live`. Returns a communicator of its members, then the newcomers; null if mpirun refuses to start
// any there, after which `live` is as it was. All members get the same answer. On failure `live` may be revoked, and
// started processes may block in MPI_Init, waiting for a process that has died. One host at a time: mpirun of Open MPI
// 5.0 crashes when it has to start several kinds at once. The new processes have the variable where MPI can give it
// (Open MPI).
[[nodiscard]] Result<MPI_Comm> grow(MPI_Comm live, const NewProcesses& what);

// Whether this process was started by grow(), and not by an application that spawns others, or by hand.
[[nodiscard]] bool is_newcomer();
// The same in a job with [job] world = application. Requires: this process has not joined yet.
[[nodiscard]] bool is_newcomer_in_world();

// In newcomers: the other end of grow(). Ends the process if that fails.
[[nodiscard]] MPI_Comm join(MPI_Comm newcomers);
// Ends this newcomer, which has no role yet, by a signal: MPI reports only such deaths to the others, which then repair
// this one like any.
[[noreturn]] void leave();

}  // namespace cairn::respawn
