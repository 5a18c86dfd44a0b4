// The exchange of halos: ranks hold blocks of whole rows of a grid, one below the other, and each needs the rows
// beside its block.
#pragma once

#include <cstddef>
#include <span>

#include <mpi.h>

namespace examples {

[[nodiscard]] std::size_t rank_of(MPI_Comm comm);
[[nodiscard]] std::size_t size_of(MPI_Comm comm);

// The rows at the rim of a block, all of the same length. The caller owns them.
struct Halo {
  std::span<const double> first;  // sent to the rank above
  std::span<const double> last;   // sent to the rank below
  std::span<double> above;        // received from the rank above
  std::span<double> below;        // received from the rank below
};

// Tags of messages to the rank above, and to the rank below.
inline constexpr int kUpward = 1;
inline constexpr int kDownward = 2;

// Exchanges rows with the ranks `up` and `down`. Either may be MPI_PROC_NULL: the row there stays as it is.
//
// Collective over the neighbours.
void exchange_halo(const Halo& halo, int up, int down, MPI_Comm comm);

}  // namespace examples
