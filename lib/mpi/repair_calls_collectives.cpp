// Long collectives are made of MPI's non-blocking ones. When a blocking one of Open MPI 5.0 fails, it frees the
// receives that are under way, and memory of its own that they write to (ompi_coll_base_sendrecv_actual in
// coll_base_util.c). The non-blocking ones wait for all messages of a round (NBC_Progress in coll/libnbc).
#include <numeric>
#include <span>
#include <variant>

#include "mpi/failure_handler.hpp"
#include "mpi/place_in.hpp"
#include "mpi/repair_calls.hpp"

namespace cairn {
namespace {

namespace of = tap::collectives;

bool is_root(int root, MPI_Comm comm) { return rank_in(comm) == root; }
int sum_of(const int* counts, MPI_Comm comm) {
  const std::span<const int> all(counts, static_cast<std::size_t>(size_of(comm)));
  return std::accumulate(all.begin(), all.end(), 0);
}

// Whether no message of the call is long: the same on all ranks, since the two kinds of collectives do not match. Where
// ranks know their own counts only, the call counts as long.
bool is_short(const of::Barrier& /*c*/) { return true; }
bool is_short(const of::Bcast& c) { return RepairCalls::bytes_of(c.count, c.type) <= RepairCalls::kShort; }
bool is_short(const of::Gather& c) {
  const bool root = is_root(c.root, c.comm);
  const auto own =
      root ? RepairCalls::bytes_of(c.to_count, c.to_type) : RepairCalls::bytes_of(c.from_count, c.from_type);
  return own * size_of(c.comm) <= RepairCalls::kShort;
}
bool is_short(const of::Scatter& c) {
  const bool root = is_root(c.root, c.comm);
  const auto own =
      root ? RepairCalls::bytes_of(c.from_count, c.from_type) : RepairCalls::bytes_of(c.to_count, c.to_type);
  return own * size_of(c.comm) <= RepairCalls::kShort;
}
bool is_short(const of::Allgather& c) {
  return RepairCalls::bytes_of(c.to_count, c.to_type) * size_of(c.comm) <= RepairCalls::kShort;
}
bool is_short(const of::Allgatherv& c) {
  return RepairCalls::bytes_of(sum_of(c.to_counts, c.comm), c.to_type) <= RepairCalls::kShort;
}
bool is_short(const of::Alltoall& c) {
  return RepairCalls::bytes_of(c.to_count, c.to_type) * size_of(c.comm) <= RepairCalls::kShort;
}
bool is_short(const of::Reduce& c) { return RepairCalls::bytes_of(c.count, c.type) <= RepairCalls::kShort; }
bool is_short(const of::Allreduce& c) { return RepairCalls::bytes_of(c.count, c.type) <= RepairCalls::kShort; }
bool is_short(const of::Reduce_scatter_block& c) {
  return RepairCalls::bytes_of(c.count, c.type) * size_of(c.comm) <= RepairCalls::kShort;
}
bool is_short(const of::Reduce_scatter& c) {
  return RepairCalls::bytes_of(sum_of(c.counts, c.comm), c.type) <= RepairCalls::kShort;
}
bool is_short(const of::Scan& c) { return RepairCalls::bytes_of(c.count, c.type) <= RepairCalls::kShort; }
bool is_short(const of::Exscan& c) { return RepairCalls::bytes_of(c.count, c.type) <= RepairCalls::kShort; }
template <class Other>
bool is_short(const Other& /*c*/) {
  return false;
}

int begin(const of::Barrier& c, MPI_Request* r) { return MPI_Ibarrier(c.comm, r); }
int begin(const of::Bcast& c, MPI_Request* r) { return MPI_Ibcast(c.buffer, c.count, c.type, c.root, c.comm, r); }
int begin(const of::Gather& c, MPI_Request* r) {
  return MPI_Igather(c.from, c.from_count, c.from_type, c.to, c.to_count, c.to_type, c.root, c.comm, r);
}
int begin(const of::Gatherv& c, MPI_Request* r) {
  return MPI_Igatherv(c.from, c.from_count, c.from_type, c.to, c.to_counts, c.to_places, c.to_type, c.root, c.comm, r);
}
int begin(const of::Scatter& c, MPI_Request* r) {
  return MPI_Iscatter(c.from, c.from_count, c.from_type, c.to, c.to_count, c.to_type, c.root, c.comm, r);
}
int begin(const of::Scatterv& c, MPI_Request* r) {
  return MPI_Iscatterv(c.from, c.from_counts, c.from_places, c.from_type, c.to, c.to_count, c.to_type, c.root, c.comm,
                       r);
}
int begin(const of::Allgather& c, MPI_Request* r) {
  return MPI_Iallgather(c.from, c.from_count, c.from_type, c.to, c.to_count, c.to_type, c.comm, r);
}
int begin(const of::Allgatherv& c, MPI_Request* r) {
  return MPI_Iallgatherv(c.from, c.from_count, c.from_type, c.to, c.to_counts, c.to_places, c.to_type, c.comm, r);
}
int begin(const of::Alltoall& c, MPI_Request* r) {
  return MPI_Ialltoall(c.from, c.from_count, c.from_type, c.to, c.to_count, c.to_type, c.comm, r);
}
int begin(const of::Alltoallv& c, MPI_Request* r) {
  return MPI_Ialltoallv(c.from, c.from_counts, c.from_places, c.from_type, c.to, c.to_counts, c.to_places, c.to_type,
                        c.comm, r);
}
int begin(const of::Alltoallw& c, MPI_Request* r) {
  return MPI_Ialltoallw(c.from, c.from_counts, c.from_places, c.from_types, c.to, c.to_counts, c.to_places, c.to_types,
                        c.comm, r);
}
int begin(const of::Reduce& c, MPI_Request* r) {
  return MPI_Ireduce(c.from, c.to, c.count, c.type, c.op, c.root, c.comm, r);
}
int begin(const of::Allreduce& c, MPI_Request* r) {
  return MPI_Iallreduce(c.from, c.to, c.count, c.type, c.op, c.comm, r);
}
int begin(const of::Reduce_scatter_block& c, MPI_Request* r) {
  return MPI_Ireduce_scatter_block(c.from, c.to, c.count, c.type, c.op, c.comm, r);
}
int begin(const of::Reduce_scatter& c, MPI_Request* r) {
  return MPI_Ireduce_scatter(c.from, c.to, c.counts, c.type, c.op, c.comm, r);
}
int begin(const of::Scan& c, MPI_Request* r) { return MPI_Iscan(c.from, c.to, c.count, c.type, c.op, c.comm, r); }
int begin(const of::Exscan& c, MPI_Request* r) { return MPI_Iexscan(c.from, c.to, c.count, c.type, c.op, c.comm, r); }
int begin(const of::Neighbor_allgather& c, MPI_Request* r) {
  return MPI_Ineighbor_allgather(c.from, c.from_count, c.from_type, c.to, c.to_count, c.to_type, c.comm, r);
}
int begin(const of::Neighbor_allgatherv& c, MPI_Request* r) {
  return MPI_Ineighbor_allgatherv(c.from, c.from_count, c.from_type, c.to, c.to_counts, c.to_places, c.to_type, c.comm,
                                  r);
}
int begin(const of::Neighbor_alltoall& c, MPI_Request* r) {
  return MPI_Ineighbor_alltoall(c.from, c.from_count, c.from_type, c.to, c.to_count, c.to_type, c.comm, r);
}
int begin(const of::Neighbor_alltoallv& c, MPI_Request* r) {
  return MPI_Ineighbor_alltoallv(c.from, c.from_counts, c.from_places, c.from_type, c.to, c.to_counts, c.to_places,
                                 c.to_type, c.comm, r);
}
int begin(const of::Neighbor_alltoallw& c, MPI_Request* r) {
  return MPI_Ineighbor_alltoallw(c.from, c.from_counts, c.from_places, c.from_types, c.to, c.to_counts, c.to_places,
                                 c.to_types, c.comm, r);
}

}  // namespace

std::optional<int> RepairCalls::collective(const tap::collectives::Any& call) {
  return std::visit(
      [this](const auto& one) -> std::optional<int> {
        int is_between_groups = 0;
        if (is_short(one) || size_of(one.comm) == 1) return {};
        MPI_Comm_test_inter(one.comm, &is_between_groups);
        if (is_between_groups != 0) return {};
        MPI_Request request = MPI_REQUEST_NULL;
        const int code = [&] {
          const FailureHandler::Deferred deferred;
          return begin(one, &request);
        }();
        if (code != MPI_SUCCESS) return leaves_on_failure(code);
        bool done = false;
        return leaves_on_failure(ask(Asks::waits, request, done, MPI_STATUS_IGNORE));
      },
      call);
}

}  // namespace cairn
