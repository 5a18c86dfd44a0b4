// What the ranks tell each other after a failure, before only the lost ones roll back: how far each has come, how far
// its log reaches back, and which snapshots it has taken part in. From the same facts all ranks conclude the same.
// Pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/bytes.hpp"
#include "base/error.hpp"

namespace cairn::replay {

// A snapshot() call that took a snapshot.
struct Taken {
  std::uint64_t call = 0;
  std::uint32_t version = 0;
  friend bool operator==(const Taken&, const Taken&) = default;
};

struct Standing {
  bool replaced = false;      // this rank rolls back
  std::uint64_t calls = 0;    // of snapshot(), begun
  std::uint64_t past = 0;     // of snapshot(), begun by any rank before an earlier failure
  std::uint32_t version = 0;  // the highest that it has used
  std::uint64_t began = 0;    // the snapshot() call at which all ranks restored
  std::uint64_t stamp = 0;    // that they agreed on then
  std::uint64_t reaches = 0;  // all messages since this call are in its log
  std::vector<Taken> taken;   // since the oldest call that its log reaches, in order
};

[[nodiscard]] Buffer encode(const Standing& standing);
// invalid_argument: these are no bytes of encode().
[[nodiscard]] Result<Standing> decode_standing(Bytes bytes);

struct Agreement {
  std::uint32_t ranks = 0;
  std::uint64_t newest = 0;             // snapshot() calls that the rank which has made most has begun, dead ranks, too
  std::uint64_t oldest = 0;             // the same of that which has made fewest, of those that are not replaced
  std::uint32_t version = 0;            // the highest that a rank has used
  std::uint64_t began = 0;              // the snapshot() call at which all ranks restored
  std::uint64_t stamp = 0;              // that they agreed on then
  std::vector<Taken> taken;             // up to there, of all ranks
  std::vector<std::uint32_t> replaced;  // ranks, ascending
};

// `epoch`: the snapshot() call at which the restored snapshot was taken; `ranks`: by rank.
// unrecoverable: the log of a rank does not reach back to that call; names the rank and both calls.
[[nodiscard]] Result<Agreement> agree_on(std::span<const Standing> ranks, std::uint64_t epoch);

}  // namespace cairn::replay
