// The blocking collectives that a carrier makes, each with the arguments of the MPI call of its name, in their order.
// Plain data.
#pragma once

#include <mpi.h>

#include <variant>

namespace cairn::tap::collectives {

struct Barrier {
  MPI_Comm comm;
};
struct Bcast {
  void* buffer;
  int count;
  MPI_Datatype type;
  int root;
  MPI_Comm comm;
};
struct Gather {
  const void* from;
  int from_count;
  MPI_Datatype from_type;
  void* to;
  int to_count;
  MPI_Datatype to_type;
  int root;
  MPI_Comm comm;
};
struct Gatherv {
  const void* from;
  int from_count;
  MPI_Datatype from_type;
  void* to;
  const int* to_counts;
  const int* to_places;
  MPI_Datatype to_type;
  int root;
  MPI_Comm comm;
};
struct Scatter {
  const void* from;
  int from_count;
  MPI_Datatype from_type;
  void* to;
  int to_count;
  MPI_Datatype to_type;
  int root;
  MPI_Comm comm;
};
struct Scatterv {
  const void* from;
  const int* from_counts;
  const int* from_places;
  MPI_Datatype from_type;
  void* to;
  int to_count;
  MPI_Datatype to_type;
  int root;
  MPI_Comm comm;
};
struct Allgather {
  const void* from;
  int from_count;
  MPI_Datatype from_type;
  void* to;
  int to_count;
  MPI_Datatype to_type;
  MPI_Comm comm;
};
struct Allgatherv {
  const void* from;
  int from_count;
  MPI_Datatype from_type;
  void* to;
  const int* to_counts;
  const int* to_places;
  MPI_Datatype to_type;
  MPI_Comm comm;
};
struct Alltoall {
  const void* from;
  int from_count;
  MPI_Datatype from_type;
  void* to;
  int to_count;
  MPI_Datatype to_type;
  MPI_Comm comm;
};
struct Alltoallv {
  const void* from;
  const int* from_counts;
  const int* from_places;
  MPI_Datatype from_type;
  void* to;
  const int* to_counts;
  const int* to_places;
  MPI_Datatype to_type;
  MPI_Comm comm;
};
struct Alltoallw {
  const void* from;
  const int* from_counts;
  const int* from_places;  // in bytes
  const MPI_Datatype* from_types;
  void* to;
  const int* to_counts;
  const int* to_places;  // in bytes
  const MPI_Datatype* to_types;
  MPI_Comm comm;
};
struct Reduce {
  const void* from;
  void* to;
  int count;
  MPI_Datatype type;
  MPI_Op op;
  int root;
  MPI_Comm comm;
};
struct Allreduce {
  const void* from;
  void* to;
  int count;
  MPI_Datatype type;
  MPI_Op op;
  MPI_Comm comm;
};
struct Reduce_scatter_block {
  const void* from;
  void* to;
  int count;  // of one rank
  MPI_Datatype type;
  MPI_Op op;
  MPI_Comm comm;
};
struct Reduce_scatter {
  const void* from;
  void* to;
  const int* counts;  // by rank
  MPI_Datatype type;
  MPI_Op op;
  MPI_Comm comm;
};
struct Scan {
  const void* from;
  void* to;
  int count;
  MPI_Datatype type;
  MPI_Op op;
  MPI_Comm comm;
};
struct Exscan {
  const void* from;
  void* to;
  int count;
  MPI_Datatype type;
  MPI_Op op;
  MPI_Comm comm;
};

struct Neighbor_allgather {
  const void* from;
  int from_count;
  MPI_Datatype from_type;
  void* to;
  int to_count;
  MPI_Datatype to_type;
  MPI_Comm comm;
};
struct Neighbor_allgatherv {
  const void* from;
  int from_count;
  MPI_Datatype from_type;
  void* to;
  const int* to_counts;
  const int* to_places;
  MPI_Datatype to_type;
  MPI_Comm comm;
};
struct Neighbor_alltoall {
  const void* from;
  int from_count;
  MPI_Datatype from_type;
  void* to;
  int to_count;
  MPI_Datatype to_type;
  MPI_Comm comm;
};
struct Neighbor_alltoallv {
  const void* from;
  const int* from_counts;
  const int* from_places;
  MPI_Datatype from_type;
  void* to;
  const int* to_counts;
  const int* to_places;
  MPI_Datatype to_type;
  MPI_Comm comm;
};
struct Neighbor_alltoallw {
  const void* from;
  const int* from_counts;
  const MPI_Aint* from_places;  // in bytes
  const MPI_Datatype* from_types;
  void* to;
  const int* to_counts;
  const MPI_Aint* to_places;  // in bytes
  const MPI_Datatype* to_types;
  MPI_Comm comm;
};

using Any =
    std::variant<Barrier, Bcast, Gather, Gatherv, Scatter, Scatterv, Allgather, Allgatherv, Alltoall, Alltoallv,
                 Alltoallw, Reduce, Allreduce, Reduce_scatter_block, Reduce_scatter, Scan, Exscan, Neighbor_allgather,
                 Neighbor_allgatherv, Neighbor_alltoall, Neighbor_alltoallv, Neighbor_alltoallw>;

}  // namespace cairn::tap::collectives
