#include "door/veloc/at_mpi_end.hpp"

#include <utility>

namespace cairn::door {

// MPI_Finalize first deletes what is attached to MPI_COMM_SELF, the newest first.
void AtMpiEnd::arm() {
  disarm();
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, &AtMpiEnd::on_end, &key_, nullptr);
  MPI_Comm_set_attr(MPI_COMM_SELF, key_, this);
  is_armed_ = true;
}

void AtMpiEnd::disarm() {
  is_armed_ = false;
  int key = std::exchange(key_, MPI_KEYVAL_INVALID);
  int is_over = 0;
  MPI_Finalized(&is_over);
  if (key == MPI_KEYVAL_INVALID || is_over != 0) return;
  MPI_Comm_delete_attr(MPI_COMM_SELF, key);  // calls on_end
  MPI_Comm_free_keyval(&key);
}

int AtMpiEnd::on_end(MPI_Comm /*comm*/, int /*key*/, void* value, void* /*extra*/) {
  auto& me = *static_cast<AtMpiEnd*>(value);
  if (!std::exchange(me.is_armed_, false)) return MPI_SUCCESS;
  me.key_ = MPI_KEYVAL_INVALID;
  me.call_();
  return MPI_SUCCESS;
}

}  // namespace cairn::door
