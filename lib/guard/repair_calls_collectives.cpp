// Long collectives are made of MPI's non-blocking ones. When a blocking one of Open MPI 5.0 fails, it frees the
// receives that are under way, and memory of its own that they write to (ompi_coll_base_sendrecv_actual in
// coll_base_util.c). The non-blocking ones wait for all messages of a round (NBC_Progress in coll/libnbc).
#include <algorithm>
#include <climits>
#include <cstdint>
#include <numeric>
#include <span>
#include <type_traits>
#include <variant>

#include "base/bytes.hpp"
#include "guard/repair_calls.hpp"
#include "mpi/failure_handler.hpp"
#include "mpi/payload.hpp"
#include "mpi/place_in.hpp"

namespace cairn {
namespace {

namespace of = tap::collectives;

std::int64_t sum_of(const int* counts, MPI_Comm comm) {
  const std::span<const int> all(counts, static_cast<std::size_t>(size_of(comm)));
  return std::accumulate(all.begin(), all.end(), std::int64_t{0});
}

// Whether no message of the call is long: the same on all ranks, since the two kinds of collectives do not match. Where
// ranks know their own counts only, the call counts as long.
bool is_short(const of::Barrier& /*c*/) { return true; }
bool is_short(const of::Gather& c) {
  const bool root = rank_in(c.comm) == c.root;
  const auto own =
      root ? RepairCalls::bytes_of(c.to_count, c.to_type) : RepairCalls::bytes_of(c.from_count, c.from_type);
  return own * size_of(c.comm) <= RepairCalls::kShort;
}
bool is_short(const of::Scatter& c) {
  const bool root = rank_in(c.comm) == c.root;
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
}  // namespace

template <class Collective>
std::optional<int> RepairCalls::make_collective(const Collective& one) {
  if (is_short(one)) return {};
  return ended(one.comm, make_of([&](MPI_Request* request) { return begin(one, request); }));
}

// MPI_Ibcast divides a message by its count, which may differ among ranks whose types differ. So bytes are sent.
std::optional<int> RepairCalls::make_collective(const of::Bcast& one) {
  const std::int64_t bytes = bytes_of(one.count, one.type);
  if (bytes <= kShort || bytes > INT_MAX) return {};
  DenseTypes types;
  const auto spread = [&](void* buffer) {
    return make_of([&](MPI_Request* request) {
      return MPI_Ibcast(buffer, static_cast<int>(bytes), MPI_BYTE, one.root, one.comm, request);
    });
  };
  if (types.dense_bytes(one.type) != 0) return ended(one.comm, spread(one.buffer));
  auto payload = Payload::of(one.buffer, one.count, one.type, MPI_COMM_SELF, types);
  if (!payload) return {};
  Buffer copy = std::move(*payload).take();
  int code = spread(copy.data());
  if (code == MPI_SUCCESS && rank_in(one.comm) != one.root)
    code = put_payload(copy, one.root, 0, one.buffer, one.count, one.type, MPI_COMM_SELF, MPI_STATUS_IGNORE);
  return ended(one.comm, code);
}

int RepairCalls::ended(MPI_Comm comm, int code) {
  if (code != MPI_SUCCESS && reports_failure(comm, code)) lifeline_->cut();
  return leaves_on_failure(code);
}

// The neighbours' are left to MPI: where both neighbours are one rank, the non-blocking ones exchange them.
std::optional<int> RepairCalls::collective(const of::Any& call) {
  return std::visit(
      [this]<class One>(const One& one) -> std::optional<int> {
        if constexpr (requires { begin(one, nullptr); } || std::is_same_v<One, of::Bcast>) {
          if (has_two_groups(one.comm) || size_of(one.comm) == 1) return {};
          return make_collective(one);
        } else {
          return {};
        }
      },
      call);
}

}  // namespace cairn
