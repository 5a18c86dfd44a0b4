// A parity file (L3): a header of 4 KiB, the parity of one chunk, and a CRC-32C of each block of it. The header has
// identity, layout, column and row, so that parity of two snapshots or two layouts is never mixed. In jobs with a key
// there are no CRCs: the digest in the manifest is of all bytes. Local: no call communicates.
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
  Identity identity = {};
  LayoutId layout = {};
  std::uint32_t column = 0;
  std::uint32_t row = 0;
  std::uint64_t chunk_bytes = 0;
  BlockDigest digest = BlockDigest::crc32c;  // sha256: of the file as a whole

  [[nodiscard]] std::uint64_t blocks() const { return round_up(chunk_bytes, kBlockBytes) / kBlockBytes; }
  [[nodiscard]] std::uint64_t crc_offset() const { return kParityHeaderBytes + chunk_bytes; }
  [[nodiscard]] std::uint64_t crc_bytes() const { return digest == BlockDigest::crc32c ? blocks() * 4 : 0; }
  [[nodiscard]] std::uint64_t file_bytes() const { return crc_offset() + crc_bytes(); }
  friend bool operator==(const ParityHeader&, const ParityHeader&) = default;
};

[[nodiscard]] Buffer encode(const ParityHeader& header);
[[nodiscard]] Result<ParityHeader> decode_parity_header(Bytes bytes);

// The digest that a manifest has of a file with CRCs: of its header and of the CRCs, end to end.
[[nodiscard]] Sha256 frame_digest(Bytes header, Bytes crcs);

// Is this the parity that a manifest names? Reads everything: compares length and digest with `entry`, each block with
// its CRC if it has one, and the header (snapshot, layout, column and row) with `expected`. Code::corrupt says what is
// wrong. Calls `between` after every MiB.
[[nodiscard]] Status verify_parity_file(const Store& store, const FileName& name, const ParityHeader& expected,
                                        const ParityEntry& entry, const std::function<void()>& between);

}  // namespace cairn
