#include "halo.hpp"

#include <array>

namespace examples {

std::size_t rank_of(MPI_Comm comm) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  return static_cast<std::size_t>(rank);
}

std::size_t size_of(MPI_Comm comm) {
  int size = 0;
  MPI_Comm_size(comm, &size);
  return static_cast<std::size_t>(size);
}

void exchange_halo(const Halo& halo, int up, int down, MPI_Comm comm) {
  const auto count = static_cast<int>(halo.first.size());
  // Not MPI_Sendrecv: that of Open MPI 5.0 crashes when it receives from MPI_PROC_NULL and who it sends to has died.
  std::array<MPI_Request, 4> requests{};
  MPI_Irecv(halo.below.data(), count, MPI_DOUBLE, down, kUpward, comm, &requests[0]);
  MPI_Irecv(halo.above.data(), count, MPI_DOUBLE, up, kDownward, comm, &requests[1]);
  MPI_Isend(halo.first.data(), count, MPI_DOUBLE, up, kUpward, comm, &requests[2]);
  MPI_Isend(halo.last.data(), count, MPI_DOUBLE, down, kDownward, comm, &requests[3]);
  MPI_Waitall(requests.size(), requests.data(), MPI_STATUSES_IGNORE);
}

}  // namespace examples
