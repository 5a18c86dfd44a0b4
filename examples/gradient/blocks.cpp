#include "blocks.hpp"

#include <numeric>

#include "halo.hpp"

namespace gradient {

using examples::rank_of;
using examples::size_of;

Problem share(Problem problem, MPI_Comm comm) {
  MPI_Bcast(&problem, sizeof problem, MPI_BYTE, 0, comm);
  return problem;
}

double sum(double mine, MPI_Comm comm) {
  double all = 0;
  MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, comm);
  return all;
}

Blocks::Blocks(std::size_t rows, std::size_t cols, MPI_Comm comm)
    : comm_(comm), rank_(rank_of(comm)), cols_(cols), rows_(size_of(comm)) {
  const int mine = static_cast<int>(rows / rows_.size() + (rank_ < rows % rows_.size() ? 1 : 0));
  MPI_Allgather(&mine, 1, MPI_INT, rows_.data(), 1, MPI_INT, comm);
}

std::size_t Blocks::first_row() const { return std::accumulate(rows_.data(), rows_.data() + rank_, std::size_t{0}); }

void Blocks::exchange_halo(const Vector& u, Beside& beside) const {
  if (!has_rows(rank_)) return;
  const auto rank = static_cast<int>(rank_);
  const int up = rank == 0 ? MPI_PROC_NULL : rank - 1;
  const int down = has_rows(rank_ + 1) ? rank + 1 : MPI_PROC_NULL;
  const std::span<const double> all(u);
  examples::exchange_halo({all.first(cols_), all.last(cols_), beside.above, beside.below}, up, down, comm_);
}

Vector Blocks::gather(const Vector& u) const {
  Vector whole;
  std::vector<int> counts;
  std::vector<int> places;
  if (rank_ == 0) {
    int place = 0;
    for (const int rows : rows_) {
      counts.push_back(rows * static_cast<int>(cols_));
      places.push_back(place);
      place += counts.back();
    }
    whole.resize(static_cast<std::size_t>(place));
  }
  MPI_Gatherv(u.data(), static_cast<int>(u.size()), MPI_DOUBLE, whole.data(), counts.data(), places.data(), MPI_DOUBLE,
              0, comm_);
  return whole;
}

}  // namespace gradient
