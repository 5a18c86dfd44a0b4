// Long messages in parts that MPI sends at once, without waiting for a receive: at the end of a session, the receiver
// may take no more. Pure.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <vector>

#include "base/bytes.hpp"
#include "base/ids.hpp"

namespace cairn {

inline constexpr std::size_t kMostPartBytes = 1024;

// Inverse pair. Parts of one sender come in order, but those of a message may be missing as a whole. A message that is
// longer than `most` bytes is dropped.
[[nodiscard]] std::vector<Buffer> cut_into_parts(Bytes message);
class PartJoiner {
 public:
  explicit PartJoiner(std::size_t most) : most_(most) {}
  // The message whose last part this is; none: it goes on, or was dropped.
  [[nodiscard]] std::optional<Buffer> take(Peer from, Bytes part);

 private:
  std::size_t most_;
  std::map<Peer, Buffer> begun_;
};

}  // namespace cairn
