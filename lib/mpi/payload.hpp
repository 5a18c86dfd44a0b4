// The bytes of a message as MPI sends them: those of its elements, one after another, in the order of its datatype.
// Local.
#pragma once

#include <mpi.h>

#include <array>
#include <cstddef>
#include <optional>
#include <utility>

#include "base/bytes.hpp"

namespace cairn {

// Which of MPI's own datatypes have elements without gaps: remembered, since each message asks. Their handles are never
// used again for others. Not thread-safe.
class DenseTypes {
 public:
  // The size of an element in bytes if elements lie one after another, in their order; otherwise 0.
  [[nodiscard]] MPI_Count dense_bytes(MPI_Datatype type);

 private:
  struct Known {
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Count bytes = 0;
  };
  std::array<Known, 8> known_;
  std::size_t next_ = 0;
};

// MPI takes counts that are int, so what is longer is packed and unpacked in pieces of at most so many bytes.
constexpr MPI_Count kLongestPiece = MPI_Count{64} << 20;

// Where the elements lie one after another in memory, a view of them; otherwise a copy.
class Payload {
 public:
  // Nothing: MPI_Pack cannot make it, or it is too long for one message of bytes.
  static std::optional<Payload> of(const void* buffer, MPI_Count count, MPI_Datatype type, MPI_Comm comm,
                                   DenseTypes& types);
  // Of a message with this status that was received there; nothing also if it ends within an element.
  static std::optional<Payload> received(const void* buffer, MPI_Datatype type, const MPI_Status& status, MPI_Comm comm,
                                         DenseTypes& types);
  [[nodiscard]] Bytes bytes() const { return copy_.empty() ? view_ : Bytes(copy_); }
  // The same, in memory of their own.
  [[nodiscard]] Buffer take() && { return copy_.empty() ? Buffer(view_.begin(), view_.end()) : std::move(copy_); }

 private:
  Bytes view_;
  Buffer copy_;
};

// The bytes of elements of any number, in memory of their own. `piece`: at most so many bytes are packed at once, if an
// element is not longer. Nothing: MPI_Pack cannot make them.
std::optional<Buffer> pack_elements(const void* buffer, MPI_Count count, MPI_Datatype type,
                                    MPI_Count piece = kLongestPiece);
// The inverse, as a receive does it: MPI_SUCCESS, MPI_ERR_TRUNCATE or another of MPI's codes. `status`
// may be MPI_STATUS_IGNORE.
int put_payload(Bytes payload, int source, int tag, void* buffer, MPI_Count count, MPI_Datatype type, MPI_Comm comm,
                MPI_Status* status, MPI_Count piece = kLongestPiece);
// A status of a message, as MPI fills it.
void fill_status(MPI_Status* status, int source, int tag, MPI_Count bytes);

}  // namespace cairn
