#include "mpi/completion.hpp"

#include "base/check.hpp"
#include "mpi/payload.hpp"

namespace cairn {

using tap::Which;

void Completion::found(std::size_t place, int code, const MPI_Status& status) {
  check(place < requests_ && found_ <= place && !is_enough());
  if (code != MPI_SUCCESS && first_error_ == MPI_SUCCESS) first_error_ = code;
  const std::size_t at = which_ == Which::all ? place : found_;
  if (completed_.statuses != MPI_STATUSES_IGNORE) {
    completed_.statuses[at] = status;
    if (which_ == Which::all || which_ == Which::some) completed_.statuses[at].MPI_ERROR = code;
  }
  if (which_ == Which::any) *completed_.index = static_cast<int>(place);
  if (which_ == Which::some) completed_.indices[at] = static_cast<int>(place);
  ++found_;
}

int Completion::end(bool any_active) {
  const bool none = !any_active && found_ == 0;
  if (which_ == Which::some) {
    *completed_.done = none ? MPI_UNDEFINED : static_cast<int>(found_);
  } else if (which_ == Which::any) {
    if (found_ == 0) *completed_.index = MPI_UNDEFINED;
    if (none) fill_status(completed_.statuses, MPI_ANY_SOURCE, MPI_ANY_TAG, 0);
    if (tests()) *completed_.flag = none || found_ > 0 ? 1 : 0;
  } else if (tests()) {
    *completed_.flag = found_ == requests_ ? 1 : 0;
  }
  if (first_error_ == MPI_SUCCESS || which_ == Which::one || which_ == Which::any) return first_error_;
  return MPI_ERR_IN_STATUS;
}

}  // namespace cairn
