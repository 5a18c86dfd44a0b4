// CRC-32C (Castagnoli, as in iSCSI, RFC 3720) by ISA-L. Pure.
#pragma once

#include <cstdint>

#include "base/bytes.hpp"

namespace cairn {

// The checksum of `bytes`, or of what `before` covers followed by `bytes`.
[[nodiscard]] std::uint32_t crc32c(Bytes bytes, std::uint32_t before = 0);

// Copies `from` to `to` (same length) and returns the checksum of the bytes, in one pass over memory.
[[nodiscard]] std::uint32_t copy_crc32c(MutableBytes to, Bytes from, std::uint32_t before = 0);

}  // namespace cairn
