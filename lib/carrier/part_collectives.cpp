// Collective calls of a lost rank that a part of it makes: of the messages that the lost rank had received.
#include <cairn/lost_collectives.hpp>
#include <span>
#include <stdexcept>

#include <fmt/format.h>

#include "carrier/collectives/collectives.hpp"
#include "mpi/mpi_request.hpp"
#include "replay/part_work.hpp"
#include "rollback/part_computer.hpp"
#include "session/exception.hpp"
#include "tap/hear.hpp"

namespace cairn {
namespace {

// Those of the lost rank. Nobody waits for another one.
class PartMessages final : public collectives::Messages {
 public:
  explicit PartMessages(replay::PartWork& work) : work_(work) {}

  [[nodiscard]] int rank() const override { return static_cast<int>(work_.steps().rank); }
  [[nodiscard]] int size() const override { return static_cast<int>(work_.steps().ranks); }
  void send(const collectives::Source& what, int to) override {
    if (to == MPI_PROC_NULL) return;
    value_or_stop(work_.send(static_cast<std::uint32_t>(to), replay::kCollectiveTag, collectives::pack(what)));
  }
  void receive(const collectives::Target& into, int from) override {
    if (from == MPI_PROC_NULL) return;
    collectives::unpack(value_or_stop(work_.receive(static_cast<std::uint32_t>(from), replay::kCollectiveTag)), into);
  }
  void exchange_all(std::span<const collectives::Sent> sent, std::span<const collectives::Received> received) override {
    for (const auto& [what, to] : sent) send(what, to);
    for (const auto& [into, from] : received) receive(into, from);
  }

 private:
  replay::PartWork& work_;
};

template <class Call>
void make(replay::PartWork& work, const Call& call) {
  const tap::Unheard own;
  PartMessages messages(work);
  try {
    collectives::make(call, messages);
  } catch (const collectives::Failed& failed) {
    throw Exception(ErrorKind::usage, mpi_error(failed.code, "a collective call of a part").text());
  } catch (const std::length_error&) {
    throw Exception(ErrorKind::usage, "a collective call of a part has a negative count");
  }
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
