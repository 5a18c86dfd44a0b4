// Small parity files, whole: header, the parity bytes of one chunk and, if it has one, their CRC.
#pragma once

#include <algorithm>

#include "codec/crc32c.hpp"
#include "format/parity_file.hpp"

namespace cairn::test {

inline ParityHeader sample_parity_header(BlockDigest digest = BlockDigest::crc32c) {
  return {{{3}, {42}, {0x0123456789abcdefULL}}, {0xabcdef01U}, 2, 1, 96, digest};
}

struct SampleParity {
  Buffer bytes;
  ParityEntry entry;
};

// The file of this header with these bytes of parity, and what a manifest says of it.
inline SampleParity parity_file(const ParityHeader& header, Bytes parity) {
  const Buffer head = encode(header);
  SampleParity file{head, {header.column, header.row, header.file_bytes(), {}}};
  file.bytes.insert(file.bytes.end(), parity.begin(), parity.end());
  ByteWriter crcs;
  for (std::uint64_t at = 0; at < parity.size() && header.digest == BlockDigest::crc32c; at += kBlockBytes)
    crcs.put(crc32c(parity.subspan(at, std::min<std::uint64_t>(kBlockBytes, parity.size() - at))));
  file.bytes.insert(file.bytes.end(), crcs.bytes().begin(), crcs.bytes().end());
  file.entry.digest = header.digest == BlockDigest::crc32c ? frame_digest(head, crcs.bytes()) : sha256(file.bytes);
  return file;
}

inline SampleParity sample_parity(BlockDigest digest = BlockDigest::crc32c) {
  Buffer parity;
  for (unsigned i = 0; i < 96; ++i) parity.push_back(static_cast<std::byte>(i * 7));
  return parity_file(sample_parity_header(digest), parity);
}

}  // namespace cairn::test
