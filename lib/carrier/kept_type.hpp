// A datatype that stays valid for as long as a message needs it: the application may free its own while the message is
// under way. MPI's own datatypes stay valid anyway.
#pragma once

#include <mpi.h>

#include "mpi/mpi_request.hpp"

namespace cairn {

class KeptType {
 public:
  explicit KeptType(MPI_Datatype type) : type_(type) {
    int integers = 0;
    int addresses = 0;
    int types = 0;
    int combiner = MPI_COMBINER_NAMED;
    MPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
    is_own_ = combiner != MPI_COMBINER_NAMED && MPI_Type_dup(type, &type_) == MPI_SUCCESS;
    if (!is_own_) type_ = type;
  }
  ~KeptType() {
    if (is_own_ && mpi_is_running()) MPI_Type_free(&type_);
  }
  KeptType(const KeptType&) = delete;
  KeptType& operator=(const KeptType&) = delete;

  [[nodiscard]] MPI_Datatype get() const { return type_; }

 private:
  MPI_Datatype type_;
  bool is_own_ = false;
};

}  // namespace cairn
