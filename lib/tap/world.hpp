// MPI_COMM_WORLD as the application means it. MPI's own also has the heads that ckpt-run starts. In a job with [job]
// world = application, the tap puts a communicator of the application's ranks in its place, in every call. On heads
// this is a communicator of the heads, for tools that communicate in MPI_Finalize.
//
// A call is substituted because it names MPI_COMM_WORLD, wherever it is made: an error handler, an MPI_Op or an
// attribute's callback may make it inside another call. Cairn's own calls never name it. They use all_processes().
//
// Thread-safe. Local, unless a function says otherwise.
#pragma once

#include <mpi.h>

namespace cairn::tap {

// What MPI_COMM_WORLD stands for in calls: the application's world, or MPI_COMM_WORLD itself.
[[nodiscard]] MPI_Comm application_world();
// The communicator that a call means by this argument.
[[nodiscard]] inline MPI_Comm meant_by(MPI_Comm comm) { return comm == MPI_COMM_WORLD ? application_world() : comm; }

[[nodiscard]] bool is_world_replaced();
// All processes of MPI_COMM_WORLD: a communicator that no call substitutes.
[[nodiscard]] MPI_Comm all_processes();

// Puts a communicator of this process's part in MPI_COMM_WORLD's place, from now on. `all`: Cairn's duplicate of
// MPI_COMM_WORLD, which stays the caller's. `repairs`: in a job that repairs itself. MPI reports deaths by the error
// handler of its own MPI_COMM_WORLD, too, so that one then returns errors, whatever the application sets. Collective
// over `all`. Returns MPI's code.
[[nodiscard]] int replace_world(MPI_Comm all, bool computes, bool repairs = false);
// Frees that communicator, which calls the delete callbacks of its attributes, and takes it out of MPI_COMM_WORLD's
// place. Requires: MPI has not ended.
void restore_world();
// Puts `part` in MPI_COMM_WORLD's place, instead of what was there: the application's world after a repair. It gets the
// name of that. `part` stays the caller's.
void follow_world(MPI_Comm part);
// The same in a process that a repair has started. `all`: Cairn's duplicate of this process's MPI_COMM_WORLD, which
// stays the caller's, and stands for the application's world until a repair gives the process its part.
void replace_world_of_newcomer(MPI_Comm all);

// Where a call with `comm` looks after it found no such attribute there: MPI attaches those that it has defined to its
// own MPI_COMM_WORLD. MPI_COMM_NULL: nowhere else.
[[nodiscard]] MPI_Comm other_holder(int key);
// The communicator that has the same error handler as this one: MPI calls the handler of its own MPI_COMM_WORLD for
// errors that belong to no communicator. MPI_COMM_NULL: there is none.
[[nodiscard]] MPI_Comm handler_twin(MPI_Comm comm);

}  // namespace cairn::tap
