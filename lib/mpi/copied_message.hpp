// A message whose bytes are in memory of Cairn, since that of the application may change before MPI has sent it.
#pragma once

#include <mpi.h>

#include <optional>
#include <utility>

#include "base/bytes.hpp"
#include "mpi/payload.hpp"
#include "tap/carrier.hpp"

namespace cairn {

struct CopiedMessage {
  Buffer bytes;                  // may be moved away
  tap::OutgoingMessage message;  // of these bytes

  // Nothing: MPI_Pack cannot make them.
  [[nodiscard]] static std::optional<CopiedMessage> of(const tap::OutgoingMessage& message) {
    auto packed = pack_elements(message.buffer, message.count, message.type);
    if (!packed) return {};
    CopiedMessage copied{.bytes = std::move(*packed), .message = message};
    copied.message.buffer = copied.bytes.data();
    copied.message.count = static_cast<MPI_Count>(copied.bytes.size());
    copied.message.type = MPI_BYTE;
    return copied;
  }
};

}  // namespace cairn
