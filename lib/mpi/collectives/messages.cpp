#include "mpi/collectives/messages.hpp"

#include <cstring>

#include "mpi/payload.hpp"

namespace cairn::collectives {

void check(int code) {
  if (code != MPI_SUCCESS) throw Failed{code, false};
}

MPI_Aint extent_of(MPI_Datatype type) {
  MPI_Aint lower = 0;
  MPI_Aint extent = 0;
  check(MPI_Type_get_extent(type, &lower, &extent));
  return extent;
}

MPI_Count bytes_of(MPI_Count count, MPI_Datatype type) {
  MPI_Count bytes = 0;
  check(MPI_Type_size_x(type, &bytes));
  return count * bytes;
}

std::vector<MPI_Count> begins_of(std::span<const int> counts) {
  std::vector<MPI_Count> begins{0};
  for (const int count : counts) begins.push_back(begins.back() + count);
  return begins;
}

void copy(const Source& from, const Target& to) {
  if (from.at == to.at && from.type == to.type) return;
  DenseTypes types;
  const MPI_Count bytes = types.dense_bytes(from.type) * from.count;
  if (bytes > 0 && bytes == types.dense_bytes(to.type) * to.count) {
    std::memmove(to.at, from.at, static_cast<std::size_t>(bytes));
    return;
  }
  const auto payload = Payload::of(from.at, from.count, from.type, MPI_COMM_SELF, types);
  if (!payload) throw Failed{MPI_ERR_TYPE, false};
  unpack(payload->bytes(), to);
}

Buffer pack(const Source& from) {
  DenseTypes types;
  const auto payload = Payload::of(from.at, from.count, from.type, MPI_COMM_SELF, types);
  if (!payload) throw Failed{MPI_ERR_TYPE, false};
  return {payload->bytes().begin(), payload->bytes().end()};
}

void unpack(Bytes bytes, const Target& to) {
  check(put_payload(bytes, 0, 0, to.at, to.count, to.type, MPI_COMM_SELF, MPI_STATUS_IGNORE));
}

Elements::Elements(MPI_Count count, MPI_Datatype type) : count_(count), type_(type) {
  if (count == 0) return;
  MPI_Aint extent = 0;
  check(MPI_Type_get_true_extent(type, &before_, &extent));
  memory_.resize(static_cast<std::size_t>(extent + (count - 1) * extent_of(type)));
}

}  // namespace cairn::collectives
