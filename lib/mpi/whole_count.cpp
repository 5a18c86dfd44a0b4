#include "mpi/whole_count.hpp"

#include <array>

namespace cairn {

// As many pieces of `most` elements as fit, and the rest behind them.
void WholeCount::make(MPI_Count count, MPI_Datatype type, MPI_Count most) {
  MPI_Count lower = 0;
  MPI_Count extent = 0;
  MPI_Type_get_extent_x(type, &lower, &extent);
  const auto pieces = static_cast<int>(count / most);
  MPI_Datatype piece = MPI_DATATYPE_NULL;
  MPI_Datatype whole = MPI_DATATYPE_NULL;
  MPI_Datatype rest = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(static_cast<int>(most), type, &piece);
  MPI_Type_contiguous(pieces, piece, &whole);
  MPI_Type_contiguous(static_cast<int>(count % most), type, &rest);
  const std::array<int, 2> lengths{1, 1};
  const std::array<MPI_Aint, 2> places{0, static_cast<MPI_Aint>(extent * most * pieces)};
  const std::array<MPI_Datatype, 2> types{whole, rest};
  MPI_Type_create_struct(2, lengths.data(), places.data(), types.data(), &own_);
  MPI_Type_commit(&own_);
  for (MPI_Datatype* const part : {&rest, &whole, &piece}) MPI_Type_free(part);
  count_ = 1;
  type_ = own_;
}

}  // namespace cairn
