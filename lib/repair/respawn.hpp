// Starts new processes of this program that replace dead ones ([recovery] mode = respawn).
//
// One survivor starts them, because a start over all survivors hangs when another one dies meanwhile. A failure on one
// side must reach the other side. Survivors agree after every step, and revoke what was made if it failed. Newcomers
// end if anything fails before they get their roles.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/bytes.hpp"
#include "base/error.hpp"

namespace cairn::respawn {

// In the environment of every process that a pool has started, and of no other.
inline constexpr const char* kPoolVariable = "CAIRNPOOL";
// Ends its value in a job with [job] world = application.
inline constexpr const char* kReplacesWorld = "+world";

struct Start {
  std::uint32_t starter = 0;  // the survivor that starts them, on its host
  std::string host;           // its name; empty: mpirun knows only one host
  std::size_t count = 0;
  std::string variable;  // "NAME=value" in their environment, where MPI can (Open MPI)
};

// Collective over `live`. Returns a communicator of its members, then the newcomers; null if mpirun refuses to start
// any there, after which `live` is as it was. All members get the same answer. On failure `live` may be revoked, and
// started processes may block in MPI_Init, waiting for a process that has died. One host at a time: mpirun of Open MPI
// 5.0 crashes when it has to start several kinds at once.
[[nodiscard]] Result<MPI_Comm> grow(MPI_Comm live, const Start& what);

// Collective over such a communicator, with join() at the other end: sends `news` from its first member to the
// newcomers.
[[nodiscard]] Status send_news(MPI_Comm grown, Bytes news);

// Whether this process was started by grow(), and not by an application that spawns others, or by hand.
[[nodiscard]] bool is_newcomer();
// The same in a job with [job] world = application. Requires: this process has not joined yet.
[[nodiscard]] bool is_newcomer_in_world();

struct Welcome {
  MPI_Comm grown = MPI_COMM_NULL;
  Buffer news;
};
// In newcomers: the other end of grow() and send_news(). Ends the process if that fails.
[[nodiscard]] Welcome join(MPI_Comm newcomers);

}  // namespace cairn::respawn
