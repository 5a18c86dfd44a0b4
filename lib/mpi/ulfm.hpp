// What Cairn needs of ULFM, MPI's fault tolerance (Open MPI 5): learning that a process has died, telling all members
// of a communicator, and going on without the dead. CMake picks ulfm.cpp, or ulfm_absent.cpp where MPI has no ULFM:
// then usable() says so, no failure is ever seen, and shrink() is an error. For a pool it is a class, UlfmComm.
//
// Only shrink() and agree() wait; they are collective among the live members.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <vector>

#include "base/error.hpp"
#include "mpi/ulfm_comm.hpp"

namespace cairn::ulfm {

// Whether MPI was built with it and this job was started with it; else a configuration error that says what to do.
[[nodiscard]] Status usable();

// True if an MPI error code says that a process has died or that a communicator was revoked.
[[nodiscard]] bool is_failure(int code);
// Lets MPI take in news of deaths and revocations: it does so only inside calls that make progress. Local.
void let_news_come();
// Whether this process knows that a member has died. It learns of a death some milliseconds later.
[[nodiscard]] bool has_failed(MPI_Comm comm);
// Which members those are, by rank.
[[nodiscard]] std::vector<std::uint32_t> failed_members(MPI_Comm comm);
// Whether some member has revoked it; all members learn that.
[[nodiscard]] bool is_revoked(MPI_Comm comm);
// From now on every call on `comm` fails, on every member, also those that wait in one.
void revoke(MPI_Comm comm);

// Waits up to 30 ms until MPI reports the death of a member to this process. To be called before an agreement or a
// shrink after a failure. The functions below call it if the communicator is revoked.
void wait_for_news(MPI_Comm comm);
// The live members, in the same order. Errors on the new communicator are returned.
[[nodiscard]] Result<MPI_Comm> shrink(MPI_Comm comm);
// Works on a revoked communicator.
[[nodiscard]] Result<Agreed> agree(MPI_Comm comm, int word);
// The same, but sleeps most of the time, for members that may come late.
[[nodiscard]] Result<Agreed> agree(MPI_Comm comm, int word, const Meanwhile& meanwhile);

}  // namespace cairn::ulfm
