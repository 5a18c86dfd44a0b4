// The collective calls of a lost rank, while its steps are recomputed in parts (lost_part.hpp).
#pragma once

#include <mpi.h>

#include <cairn/lost_part.hpp>

namespace cairn {

// The collective calls that the lost rank made on session.comm() in the steps of a part, with MPI's arguments, but for
// the communicator; MPI_IN_PLACE is allowed:
//
//     cairn::LostCollectives collectives(part);
//     collectives.allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_MIN);
//
// Nothing is sent: the other ranks' messages are those that the lost rank had received. So this part gives all that the
// lost rank gave, with the same bits, and only this part gets what the lost rank got. One part makes all collective
// calls, in their order. The other parts send it what they have to give. If this is a sum of floating-point numbers,
// they send the terms, and it adds these in the order in which the lost rank did.
//
// Local: the calls do not block. They throw an Exception of kind `rollback` as those of LostPart. Kind `usage`: before
// the first step or after the last, if the lost rank had not received a message of this call, or if MPI does not accept
// the arguments. What a part sends is compared when all steps are done.
class LostCollectives {
 public:
  // The part outlives it.
  explicit LostCollectives(LostPart& part) : work_(part.work_) {}

  // As MPI_Barrier.
  void barrier();
  // As MPI_Bcast.
  void bcast(void* buffer, int count, MPI_Datatype type, int root);
  // As MPI_Gather.
  void gather(const void* from, int from_count, MPI_Datatype from_type, void* to, int to_count, MPI_Datatype to_type,
              int root);
  // As MPI_Gatherv.
  void gatherv(const void* from, int from_count, MPI_Datatype from_type, void* to, const int* to_counts,
               const int* to_places, MPI_Datatype to_type, int root);
  // As MPI_Scatter.
  void scatter(const void* from, int from_count, MPI_Datatype from_type, void* to, int to_count, MPI_Datatype to_type,
               int root);
  // As MPI_Scatterv.
  void scatterv(const void* from, const int* from_counts, const int* from_places, MPI_Datatype from_type, void* to,
                int to_count, MPI_Datatype to_type, int root);
  // As MPI_Allgather.
  void allgather(const void* from, int from_count, MPI_Datatype from_type, void* to, int to_count,
                 MPI_Datatype to_type);
  // As MPI_Allgatherv.
  void allgatherv(const void* from, int from_count, MPI_Datatype from_type, void* to, const int* to_counts,
                  const int* to_places, MPI_Datatype to_type);
  // As MPI_Alltoall.
  void alltoall(const void* from, int from_count, MPI_Datatype from_type, void* to, int to_count, MPI_Datatype to_type);
  // As MPI_Alltoallv.
  void alltoallv(const void* from, const int* from_counts, const int* from_places, MPI_Datatype from_type, void* to,
                 const int* to_counts, const int* to_places, MPI_Datatype to_type);
  // As MPI_Alltoallw.
  void alltoallw(const void* from, const int* from_counts, const int* from_places, const MPI_Datatype* from_types,
                 void* to, const int* to_counts, const int* to_places, const MPI_Datatype* to_types);
  // As MPI_Reduce.
  void reduce(const void* from, void* to, int count, MPI_Datatype type, MPI_Op op, int root);
  // As MPI_Allreduce.
  void allreduce(const void* from, void* to, int count, MPI_Datatype type, MPI_Op op);
  // As MPI_Reduce_scatter_block.
  void reduce_scatter_block(const void* from, void* to, int count, MPI_Datatype type, MPI_Op op);
  // As MPI_Reduce_scatter.
  void reduce_scatter(const void* from, void* to, const int* counts, MPI_Datatype type, MPI_Op op);
  // As MPI_Scan.
  void scan(const void* from, void* to, int count, MPI_Datatype type, MPI_Op op);
  // As MPI_Exscan.
  void exscan(const void* from, void* to, int count, MPI_Datatype type, MPI_Op op);

 private:
  rollback::LostWork& work_;
};

}  // namespace cairn
