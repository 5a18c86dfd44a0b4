// A small parity file, whole: header and the parity bytes of one chunk.
#pragma once

#include "format/parity_file.hpp"

namespace cairn::test {

inline ParityHeader sample_parity_header() { return {{{3}, {42}, {0x0123456789abcdefULL}}, {0xabcdef01U}, 2, 1, 96}; }

inline Buffer sample_parity_file() {
  Buffer bytes = encode(sample_parity_header());
  for (unsigned i = 0; i < 96; ++i) bytes.push_back(static_cast<std::byte>(i * 7));
  return bytes;
}

}  // namespace cairn::test
