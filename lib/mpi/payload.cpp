#include "mpi/payload.hpp"

#include <algorithm>
#include <climits>
#include <utility>

namespace cairn {
namespace {

MPI_Count bytes_of(MPI_Datatype type) {
  int bytes = 0;
  MPI_Type_size(type, &bytes);
  return bytes;
}

MPI_Count extent_of(MPI_Datatype type) {
  MPI_Aint lower = 0;
  MPI_Aint extent = 0;
  MPI_Type_get_extent(type, &lower, &extent);
  return extent;
}

// How many elements are packed at once. Requires: an element has bytes.
MPI_Count elements_in(MPI_Count piece, MPI_Count element) { return std::max<MPI_Count>(piece / element, 1); }

// The first bytes of one element. The others are packed first, and keep their values.
int unpack_part(Bytes part, void* element, MPI_Datatype type, MPI_Comm comm) {
  DenseTypes types;
  const auto before = Payload::of(element, 1, type, comm, types);
  if (!before) return MPI_ERR_TYPE;
  Buffer whole(before->bytes().begin(), before->bytes().end());
  copy_bytes(part, MutableBytes(whole).first(part.size()));
  int at = 0;
  return MPI_Unpack(whole.data(), static_cast<int>(whole.size()), &at, element, 1, type, comm);
}

// The last one may be a part of an element.
int unpack_elements(Bytes packed, void* buffer, MPI_Datatype type, MPI_Comm comm, MPI_Count piece) {
  const MPI_Count element = bytes_of(type);
  const MPI_Count extent = extent_of(type);
  const auto count = static_cast<MPI_Count>(packed.size()) / element;
  for (MPI_Count first = 0; first < count;) {
    const MPI_Count some = std::min(elements_in(piece, element), count - first);
    int at = 0;
    if (const int code =
            MPI_Unpack(packed.data() + first * element, static_cast<int>(some * element), &at,
                       static_cast<std::byte*>(buffer) + first * extent, static_cast<int>(some), type, comm);
        code != MPI_SUCCESS)
      return code;
    first += some;
  }
  const Bytes rest = packed.subspan(static_cast<std::size_t>(count * element));
  return rest.empty() ? MPI_SUCCESS : unpack_part(rest, static_cast<std::byte*>(buffer) + count * extent, type, comm);
}

}  // namespace

MPI_Count DenseTypes::dense_bytes(MPI_Datatype type) {
  for (const Known& known : known_)
    if (known.type == type) return known.bytes;
  int integers = 0;
  int addresses = 0;
  int types = 0;
  int combiner = MPI_COMBINER_NAMED;
  MPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
  if (combiner != MPI_COMBINER_NAMED) return 0;
  MPI_Aint lower = 0;
  MPI_Aint extent = 0;
  MPI_Type_get_extent(type, &lower, &extent);
  const MPI_Count bytes = bytes_of(type);
  known_.at(next_) = {type, lower == 0 && extent == bytes ? bytes : 0};
  return known_.at(std::exchange(next_, (next_ + 1) % known_.size())).bytes;
}

std::optional<Payload> Payload::of(const void* buffer, MPI_Count count, MPI_Datatype type, MPI_Comm comm,
                                   DenseTypes& types) {
  Payload payload;
  const MPI_Count dense = types.dense_bytes(type);
  const MPI_Count element = dense != 0 ? dense : bytes_of(type);
  if (count < 0 || element < 0 || element * count > INT_MAX) return {};
  if (element * count == 0) return payload;
  if (dense != 0) {
    payload.view_ = {static_cast<const std::byte*>(buffer), static_cast<std::size_t>(element * count)};
    return payload;
  }
  int room = 0;
  if (MPI_Pack_size(static_cast<int>(count), type, comm, &room) != MPI_SUCCESS) return {};
  payload.copy_.resize(static_cast<std::size_t>(room));
  int used = 0;
  if (MPI_Pack(buffer, static_cast<int>(count), type, payload.copy_.data(), room, &used, comm) != MPI_SUCCESS)
    return {};
  payload.copy_.resize(static_cast<std::size_t>(used));
  return payload;
}

std::optional<Payload> Payload::received(const void* buffer, MPI_Datatype type, const MPI_Status& status, MPI_Comm comm,
                                         DenseTypes& types) {
  MPI_Count bytes = 0;
  MPI_Get_elements_x(&status, MPI_BYTE, &bytes);
  const MPI_Count dense = types.dense_bytes(type);
  const MPI_Count element = dense != 0 ? dense : bytes_of(type);
  if (bytes == 0) return Payload{};
  if (bytes == MPI_UNDEFINED || element == 0 || bytes % element != 0) return {};
  return of(buffer, bytes / element, type, comm, types);
}

std::optional<Buffer> pack_elements(const void* buffer, MPI_Count count, MPI_Datatype type, MPI_Count piece) {
  DenseTypes types;
  const auto* const begin = static_cast<const std::byte*>(buffer);
  const MPI_Count element = bytes_of(type);
  if (count < 0 || element < 0) return {};
  if (element * count <= piece) {
    auto whole = Payload::of(buffer, count, type, MPI_COMM_SELF, types);
    return whole ? std::optional(std::move(*whole).take()) : std::nullopt;
  }
  if (types.dense_bytes(type) != 0) return Buffer(begin, begin + element * count);
  Buffer packed;
  packed.reserve(static_cast<std::size_t>(element * count));
  const MPI_Count extent = extent_of(type);
  for (MPI_Count first = 0; first < count;) {
    const MPI_Count some = std::min(elements_in(piece, element), count - first);
    const auto part = Payload::of(begin + first * extent, some, type, MPI_COMM_SELF, types);
    if (!part) return {};
    packed.insert(packed.end(), part->bytes().begin(), part->bytes().end());
    first += some;
  }
  return packed;
}

int put_payload(Bytes payload, int source, int tag, void* buffer, MPI_Count count, MPI_Datatype type, MPI_Comm comm,
                MPI_Status* status, MPI_Count piece) {
  const MPI_Count element = bytes_of(type);
  const auto bytes = static_cast<MPI_Count>(payload.size());
  fill_status(status, source, tag, bytes);
  if (bytes == 0) return MPI_SUCCESS;
  if (element == 0 || bytes > element * count) return MPI_ERR_TRUNCATE;
  if (DenseTypes().dense_bytes(type) != 0) {
    copy_bytes(payload, {static_cast<std::byte*>(buffer), payload.size()});
    return MPI_SUCCESS;
  }
  return unpack_elements(payload, buffer, type, comm, piece);
}

void fill_status(MPI_Status* status, int source, int tag, MPI_Count bytes) {
  if (status == MPI_STATUS_IGNORE) return;
  *status = {};
  status->MPI_SOURCE = source;
  status->MPI_TAG = tag;
  status->MPI_ERROR = MPI_SUCCESS;
  MPI_Status_set_elements_x(status, MPI_BYTE, bytes);
  MPI_Status_set_cancelled(status, 0);
}

}  // namespace cairn
