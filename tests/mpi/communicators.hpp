// A fixture: an application makes communicators of a carried one, and uses them.
#pragma once

#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <vector>

#include "mpi/carried_messages.hpp"

namespace cairn::test {

class Communicators : public CarriedMessages {
 protected:
  Communicators() : CarriedMessages(64 * kMiB, false) {}
  // Those of a program: a duplicate, its halves, one that rank 0 is not in, a periodic row of all, graphs, and one that
  // every other rank makes, with the last one.
  void make_all() {
    MPI_Comm_dup(comm_, &duplicate_);
    MPI_Comm_split(duplicate_, me_ % 2, -me_, &half_);
    MPI_Comm_split(comm_, me_ == 0 ? MPI_UNDEFINED : 0, 0, &others_);
    const int periodic = 1;
    MPI_Cart_create(duplicate_, 1, &ranks_, &periodic, 0, &row_);
    make_graph();
    MPI_Dist_graph_create_adjacent(comm_, 1, &before_, &before_, 1, &next_, &me_, MPI_INFO_NULL, 0, &neighbours_);
    make_group();
  }
  void make_graph() {
    std::vector<int> index;
    std::vector<int> edges;
    for (int rank = 0; rank < ranks_; ++rank) {
      index.push_back(rank + 1);
      edges.push_back((rank + 1) % ranks_);
    }
    MPI_Graph_create(duplicate_, ranks_, index.data(), edges.data(), 0, &graph_);
  }
  void make_group() {
    std::vector<int> members;
    for (int rank = ranks_ - 1; rank >= 0; rank -= 2) members.push_back(rank);
    if (!std::ranges::count(members, me_)) return;
    MPI_Group all = MPI_GROUP_NULL;
    MPI_Group some = MPI_GROUP_NULL;
    MPI_Comm_group(comm_, &all);
    MPI_Group_incl(all, static_cast<int>(members.size()), members.data(), &some);
    MPI_Comm_create_group(comm_, some, 6, &group_);
    MPI_Group_free(&some);
    MPI_Group_free(&all);
  }
  [[nodiscard]] std::vector<MPI_Comm> all() const {
    return {duplicate_, half_, others_, row_, graph_, neighbours_, group_};
  }
  void free_all() {
    for (MPI_Comm comm : all())
      if (comm != MPI_COMM_NULL) MPI_Comm_free(&comm);
    duplicate_ = half_ = others_ = row_ = graph_ = neighbours_ = group_ = MPI_COMM_NULL;
  }
  MPI_Comm duplicate_ = MPI_COMM_NULL;
  MPI_Comm half_ = MPI_COMM_NULL;
  MPI_Comm others_ = MPI_COMM_NULL;
  MPI_Comm row_ = MPI_COMM_NULL;
  MPI_Comm graph_ = MPI_COMM_NULL;
  MPI_Comm neighbours_ = MPI_COMM_NULL;
  MPI_Comm group_ = MPI_COMM_NULL;
};

// Each rank passes a number on in each, and all add theirs.
inline std::vector<int> use(const std::vector<MPI_Comm>& comms, int number) {
  std::vector<int> got;
  for (const MPI_Comm comm : comms) {
    if (comm == MPI_COMM_NULL) continue;
    const int size = size_of(comm);
    const int me = rank_in(comm);
    int theirs = -1;
    MPI_Status status{};
    MPI_Sendrecv(&number, 1, MPI_INT, (me + 1) % size, 4, &theirs, 1, MPI_INT, (me + size - 1) % size, 4, comm,
                 &status);
    int sum = 0;
    MPI_Allreduce(&number, &sum, 1, MPI_INT, MPI_SUM, comm);
    MPI_Request request = MPI_REQUEST_NULL;
    int later = -1;
    MPI_Irecv(&later, 1, MPI_INT, (me + 1) % size, 5, comm, &request);
    MPI_Send(&sum, 1, MPI_INT, (me + size - 1) % size, 5, comm);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    got.insert(got.end(), {theirs, status.MPI_SOURCE, sum, later});
  }
  return got;
}

}  // namespace cairn::test
