// CRC-32C (Castagnoli, as in iSCSI, RFC 3720) by ISA-L. Pure.
#pragma once

#include <cstdint>

#include "base/bytes.hpp"

namespace cairn {

// The checksum of `bytes`, or of what `before` covers followed by `bytes`.
[[nodiscard]] std::uint32_t crc32c(Bytes bytes, std::uint32_t before = 0);

}  // namespace cairn
