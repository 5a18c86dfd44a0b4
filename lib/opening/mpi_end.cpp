#include "opening/mpi_end.hpp"

#include <utility>

#include "mpi/mpi_request.hpp"

namespace cairn {

// MPI_Finalize first deletes what is attached to MPI_COMM_SELF (MPI 4.1, section 11.2.4).
MpiEnd::MpiEnd(std::function<void()> tell) : tell_(std::move(tell)) {
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, &MpiEnd::on_end, &key_, nullptr);
  MPI_Comm_set_attr(MPI_COMM_SELF, key_, this);
}

MpiEnd::~MpiEnd() {
  tell_ = nullptr;
  int key = std::exchange(key_, MPI_KEYVAL_INVALID);
  if (key == MPI_KEYVAL_INVALID || !mpi_is_running()) return;
  MPI_Comm_delete_attr(MPI_COMM_SELF, key);  // calls on_end
  MPI_Comm_free_keyval(&key);
}

int MpiEnd::on_end(MPI_Comm /*comm*/, int /*key*/, void* value, void* /*extra*/) {
  auto& me = *static_cast<MpiEnd*>(value);
  me.key_ = MPI_KEYVAL_INVALID;
  if (const auto tell = std::exchange(me.tell_, nullptr)) tell();
  return MPI_SUCCESS;
}

}  // namespace cairn
