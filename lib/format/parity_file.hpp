// The header of a parity file (L3): identity, layout, column and row, so that parity of two snapshots or two
// layouts is never mixed. 4 KiB, then the parity bytes of one chunk. Local: no call communicates.
#pragma once

#include <functional>

#include "base/bytes.hpp"
#include "base/error.hpp"
#include "base/ids.hpp"
#include "format/manifest.hpp"
#include "store/store.hpp"

namespace cairn {

inline constexpr std::uint64_t kParityHeaderBytes = 4096;  // never changes

struct ParityHeader {
  Identity identity;
  LayoutId layout;
  std::uint32_t column = 0;
  std::uint32_t row = 0;
  std::uint64_t chunk_bytes = 0;
  friend bool operator==(const ParityHeader&, const ParityHeader&) = default;
};

[[nodiscard]] Buffer encode(const ParityHeader& header);
[[nodiscard]] Result<ParityHeader> decode_parity_header(Bytes bytes);

// Is this the parity that a manifest names? Reads everything: compares length and digest with `entry`, and the header
// (snapshot, layout, column and row) with `expected`. Code::corrupt says what is wrong. Calls `between` after every
// MiB.
[[nodiscard]] Status verify_parity_file(const Store& store, const FileName& name, const ParityHeader& expected,
                                        const ParityEntry& entry, const std::function<void()>& between);

}  // namespace cairn
