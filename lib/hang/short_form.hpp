// A reading of one rank as bytes, for the heads of other nodes: some hundred bytes to some KiB, where the file of calls
// has 426 kB. examine() finds the same from readings that were encoded as from those of the files. Pure.
#pragma once

#include "base/bytes.hpp"
#include "base/error.hpp"
#include "hang/hang.hpp"

namespace cairn::hang {

inline constexpr std::size_t kMostReadingBytes = 64 * kKiB;

// Inverse pair. A reading that would need more bytes is written without its counts of messages, as if its file had had
// no place for them. If even that is too long, there are no bytes. What decode_reading() returns is safe to examine:
// numbers are in range. Errors: communication.
[[nodiscard]] Buffer encode(const RankReading& reading);
[[nodiscard]] Result<RankReading> decode_reading(Bytes bytes);

// The readings of several ranks, without those of which nothing is left. Inverse pair.
[[nodiscard]] Buffer encode(const std::vector<RankReading>& readings);
[[nodiscard]] Result<std::vector<RankReading>> decode_readings(Bytes bytes);

}  // namespace cairn::hang
