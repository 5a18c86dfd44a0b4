#include "carrier/collectives/messages.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

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

// What is longer than a piece is copied in pieces that have whole elements of both types.
void copy(const Source& from, const Target& to, MPI_Count piece) {
  if (from.at == to.at && from.type == to.type) return;
  DenseTypes types;
  const MPI_Count bytes = types.dense_bytes(from.type) * from.count;
  if (bytes > 0 && bytes == types.dense_bytes(to.type) * to.count) {
    std::memmove(to.at, from.at, static_cast<std::size_t>(bytes));
    return;
  }
  const auto copy_some = [&types](const Source& some, const Target& into) {
    const auto payload = Payload::of(some.at, some.count, some.type, MPI_COMM_SELF, types);
    if (!payload) throw Failed{MPI_ERR_TYPE, false};
    unpack(payload->bytes(), into);
  };
  const MPI_Count whole = bytes_of(from.count, from.type);
  const MPI_Count from_element = bytes_of(1, from.type);
  const MPI_Count to_element = bytes_of(1, to.type);
  const MPI_Count least = std::lcm(from_element, to_element);
  if (whole <= piece || least == 0) return copy_some(from, to);
  const MPI_Count most = std::max(piece / least, MPI_Count{1}) * least;
  for (MPI_Count at = 0; at < whole; at += most) {
    const MPI_Count gone_from = at / from_element;
    const MPI_Count gone_to = at / to_element;
    const MPI_Count count = std::min(most, whole - at) / from_element;
    copy_some({element_of(from.at, gone_from, from.type), count, from.type},
              {element_of(to.at, gone_to, to.type), to.count - gone_to, to.type});
  }
}

Buffer pack(const Source& from) {
  auto packed = pack_elements(from.at, from.count, from.type);
  if (!packed) throw Failed{MPI_ERR_TYPE, false};
  return std::move(*packed);
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
