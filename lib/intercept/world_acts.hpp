// What the tap does around calls that begin MPI, and those for which a substitute of MPI_COMM_WORLD is not enough.
#pragma once

#include <mpi.h>

#include "repair/job_begin.hpp"
#include "tap/hear.hpp"
#include "tap/world.hpp"

namespace cairn::tap {

// Its communicator is not substituted: MPI_Abort ends all processes, and a handle in Fortran stays MPI_COMM_WORLD's.
template <class Result, class... Arguments>
Result with_real_world(Result (*next)(Arguments...), const Site& /*site*/, Arguments... arguments) {
  return next(arguments...);
}

// Another tool may have defined the call behind the tap, and may make the tap's own again: the outermost is the last to
// end. A head does not return from it.
template <class... Arguments>
int begins_mpi(int (*next)(Arguments...), const Site& /*site*/, Arguments... arguments) {
  bool is_outermost = false;
  int code = MPI_SUCCESS;
  {
    const Call call;
    is_outermost = call.is_outermost();
    code = next(arguments...);
  }
  if (is_outermost && code == MPI_SUCCESS) begin_job();
  return code;
}

inline int gets_attribute(int (*next)(MPI_Comm, int, void*, int*), const Site& /*site*/, MPI_Comm comm, int key,
                          void* value, int* found) {
  const int code = next(comm, key, value, found);
  if (code != MPI_SUCCESS || *found != 0) return code;
  const MPI_Comm other = other_holder(key);
  return other == MPI_COMM_NULL ? code : next(other, key, value, found);
}

}  // namespace cairn::tap
