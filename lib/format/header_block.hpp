// The 4 KiB block that every binary file of Cairn's starts with:
//
//   0     8 bytes   magic: which kind of file
//   8     u32       format: a reader refuses one newer than it knows
//   12    u32       byte-order mark 0x01020304
//   16    …         fields of that kind, then zeros
//   4092  u32       CRC-32C of bytes 0 … 4091
//
// These places never change, in any format, so that every reader can distinguish "newer" from "damaged". Pure.
#pragma once

#include <string_view>

#include "base/bytes.hpp"
#include "base/error.hpp"

namespace cairn {

inline constexpr std::uint64_t kHeaderBlockBytes = 4096;      // never changes
inline constexpr std::uint64_t kHeaderCrcOffset = 4092;       // never changes
inline constexpr std::uint32_t kByteOrderMark = 0x01020304U;  // never changes

struct HeaderKind {
  std::string_view magic;  // 8 characters
  std::string_view name;   // for messages
  std::uint32_t format;    // the newest that this library reads
};

// Returns a writer that has put the fixed fields; the caller puts its own fields and calls seal_header().
[[nodiscard]] ByteWriter begin_header(const HeaderKind& kind, std::uint32_t format);
[[nodiscard]] Buffer seal_header(ByteWriter fields);

struct OpenedHeader {
  std::uint32_t format = 0;
  ByteReader fields;
};
// Checks magic, byte order, CRC and format, and returns a reader of the fields of that kind.
[[nodiscard]] Result<OpenedHeader> open_header(Bytes bytes, const HeaderKind& kind);

}  // namespace cairn
