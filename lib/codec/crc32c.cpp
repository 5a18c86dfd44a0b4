#include "codec/crc32c.hpp"

#include <algorithm>

#include <isa-l/crc.h>

#include "codec/longest_call.hpp"
#include "codec/vector_registers.hpp"

namespace cairn {
std::uint32_t crc32c(Bytes bytes, std::uint32_t before) {
  std::uint32_t state = ~before;
  while (!bytes.empty()) {
    const std::size_t count = std::min(bytes.size(), kLongestCall);
    // ISA-L takes a pointer to non-const and only reads through it.
    auto* from = reinterpret_cast<unsigned char*>(const_cast<std::byte*>(bytes.data()));
    state = crc32_iscsi(from, static_cast<int>(count), state);
    bytes = bytes.subspan(count);
  }
  clear_upper_halves();
  return ~state;
}

}  // namespace cairn
