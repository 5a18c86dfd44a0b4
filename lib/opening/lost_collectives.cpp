#include <cairn/lost_collectives.hpp>

#include "base/check.hpp"
#include "opening/local_rollback.hpp"
#include "tap/collectives.hpp"

namespace cairn {
namespace {

void make(rollback::LostWork& work, const tap::collectives::Any& call) {
  check(local_rollback() != nullptr);
  local_rollback()->collective(work, call);
}

}  // namespace

void LostCollectives::barrier() { make(work_, tap::collectives::Barrier{MPI_COMM_NULL}); }
void LostCollectives::bcast(void* buffer, int count, MPI_Datatype type, int root) {
  make(work_, tap::collectives::Bcast{buffer, count, type, root, MPI_COMM_NULL});
}
void LostCollectives::gather(const void* from, int from_count, MPI_Datatype from_type, void* to, int to_count,
                             MPI_Datatype to_type, int root) {
  make(work_, tap::collectives::Gather{from, from_count, from_type, to, to_count, to_type, root, MPI_COMM_NULL});
}
void LostCollectives::gatherv(const void* from, int from_count, MPI_Datatype from_type, void* to, const int* to_counts,
                              const int* to_places, MPI_Datatype to_type, int root) {
  make(work_,
       tap::collectives::Gatherv{from, from_count, from_type, to, to_counts, to_places, to_type, root, MPI_COMM_NULL});
}
void LostCollectives::scatter(const void* from, int from_count, MPI_Datatype from_type, void* to, int to_count,
                              MPI_Datatype to_type, int root) {
  make(work_, tap::collectives::Scatter{from, from_count, from_type, to, to_count, to_type, root, MPI_COMM_NULL});
}
void LostCollectives::scatterv(const void* from, const int* from_counts, const int* from_places, MPI_Datatype from_type,
                               void* to, int to_count, MPI_Datatype to_type, int root) {
  make(work_, tap::collectives::Scatterv{from, from_counts, from_places, from_type, to, to_count, to_type, root,
                                         MPI_COMM_NULL});
}
void LostCollectives::allgather(const void* from, int from_count, MPI_Datatype from_type, void* to, int to_count,
                                MPI_Datatype to_type) {
  make(work_, tap::collectives::Allgather{from, from_count, from_type, to, to_count, to_type, MPI_COMM_NULL});
}
void LostCollectives::allgatherv(const void* from, int from_count, MPI_Datatype from_type, void* to,
                                 const int* to_counts, const int* to_places, MPI_Datatype to_type) {
  make(work_,
       tap::collectives::Allgatherv{from, from_count, from_type, to, to_counts, to_places, to_type, MPI_COMM_NULL});
}
void LostCollectives::alltoall(const void* from, int from_count, MPI_Datatype from_type, void* to, int to_count,
                               MPI_Datatype to_type) {
  make(work_, tap::collectives::Alltoall{from, from_count, from_type, to, to_count, to_type, MPI_COMM_NULL});
}
void LostCollectives::alltoallv(const void* from, const int* from_counts, const int* from_places,
                                MPI_Datatype from_type, void* to, const int* to_counts, const int* to_places,
                                MPI_Datatype to_type) {
  make(work_, tap::collectives::Alltoallv{from, from_counts, from_places, from_type, to, to_counts, to_places, to_type,
                                          MPI_COMM_NULL});
}
void LostCollectives::alltoallw(const void* from, const int* from_counts, const int* from_places,
                                const MPI_Datatype* from_types, void* to, const int* to_counts, const int* to_places,
                                const MPI_Datatype* to_types) {
  make(work_, tap::collectives::Alltoallw{from, from_counts, from_places, from_types, to, to_counts, to_places,
                                          to_types, MPI_COMM_NULL});
}
void LostCollectives::reduce(const void* from, void* to, int count, MPI_Datatype type, MPI_Op op, int root) {
  make(work_, tap::collectives::Reduce{from, to, count, type, op, root, MPI_COMM_NULL});
}
void LostCollectives::allreduce(const void* from, void* to, int count, MPI_Datatype type, MPI_Op op) {
  make(work_, tap::collectives::Allreduce{from, to, count, type, op, MPI_COMM_NULL});
}
void LostCollectives::reduce_scatter_block(const void* from, void* to, int count, MPI_Datatype type, MPI_Op op) {
  make(work_, tap::collectives::Reduce_scatter_block{from, to, count, type, op, MPI_COMM_NULL});
}
void LostCollectives::reduce_scatter(const void* from, void* to, const int* counts, MPI_Datatype type, MPI_Op op) {
  make(work_, tap::collectives::Reduce_scatter{from, to, counts, type, op, MPI_COMM_NULL});
}
void LostCollectives::scan(const void* from, void* to, int count, MPI_Datatype type, MPI_Op op) {
  make(work_, tap::collectives::Scan{from, to, count, type, op, MPI_COMM_NULL});
}
void LostCollectives::exscan(const void* from, void* to, int count, MPI_Datatype type, MPI_Op op) {
  make(work_, tap::collectives::Exscan{from, to, count, type, op, MPI_COMM_NULL});
}

}  // namespace cairn
