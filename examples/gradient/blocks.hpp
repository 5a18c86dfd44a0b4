// How the rows of the grid are split among ranks, and what the ranks exchange.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <mpi.h>

#include "options.hpp"
#include "poisson.hpp"

namespace gradient {

// The problem that rank 0 has, on all ranks: as in programs in which only rank 0 reads the input. Collective.
[[nodiscard]] Problem share(Problem problem, MPI_Comm comm);

// The sum of all ranks' numbers, on all ranks. It has the same bits each time if MPI adds in the same order each time:
// libraries do so for the same ranks, as the MPI Standard advises. Collective.
[[nodiscard]] double sum(double mine, MPI_Comm comm);

// One block of whole rows for each rank, in rank order.
class Blocks {
 public:
  // The first ranks get one row more where rows do not divide. With more ranks than rows the last blocks are empty.
  // Collective.
  Blocks(std::size_t rows, std::size_t cols, MPI_Comm comm);

  // Of this rank.
  [[nodiscard]] std::size_t first_row() const;
  [[nodiscard]] std::size_t points() const { return rows_of(rank_) * cols_; }

  // Fills the rows above and below this rank's block of `u` from the neighbours. Collective.
  void exchange_halo(const Vector& u, Beside& beside) const;

  // The whole vector on rank 0; nothing on the others. Collective.
  [[nodiscard]] Vector gather(const Vector& u) const;

 private:
  [[nodiscard]] std::size_t rows_of(std::size_t rank) const { return static_cast<std::size_t>(rows_[rank]); }
  [[nodiscard]] bool has_rows(std::size_t rank) const { return rank < rows_.size() && rows_[rank] > 0; }

  MPI_Comm comm_;
  std::size_t rank_;
  std::size_t cols_;
  std::vector<int> rows_;  // of each rank
};

}  // namespace gradient
