#include "codec/crc32c.hpp"

#include <algorithm>
#include <cstring>

#include <isa-l/crc.h>

#include "codec/vector_registers.hpp"

namespace cairn {
namespace {

// ISA-L counts in int.
constexpr std::size_t kLongestCall = 1U << 30;
// Source and destination of one piece stay in the cache of a core between the copy and the checksum.
constexpr std::size_t kPieceBytes = 16 * kKiB;

std::uint32_t raw_crc(Bytes bytes, std::uint32_t state) {
  while (!bytes.empty()) {
    const std::size_t count = std::min(bytes.size(), kLongestCall);
    // ISA-L takes a pointer to non-const and only reads through it.
    auto* from = reinterpret_cast<unsigned char*>(const_cast<std::byte*>(bytes.data()));
    state = crc32_iscsi(from, static_cast<int>(count), state);
    bytes = bytes.subspan(count);
  }
  clear_upper_halves();
  return state;
}

}  // namespace

std::uint32_t crc32c(Bytes bytes, std::uint32_t before) { return ~raw_crc(bytes, ~before); }

std::uint32_t copy_crc32c(MutableBytes to, Bytes from, std::uint32_t before) {
  std::uint32_t state = ~before;
  for (std::size_t at = 0; at < from.size(); at += kPieceBytes) {
    const std::size_t count = std::min(from.size() - at, kPieceBytes);
    std::memcpy(to.data() + at, from.data() + at, count);
    // The checksum is computed from the copy, because another process may change a source in shared memory meanwhile.
    state = raw_crc(to.subspan(at, count), state);
  }
  return ~state;
}

}  // namespace cairn
