#include "format/header_block.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "codec/crc32c.hpp"

namespace cairn {

ByteWriter begin_header(const HeaderKind& kind, std::uint32_t format) {
  ByteWriter out;
  out.put(bytes_of(kind.magic));
  out.put(format);
  out.put(kByteOrderMark);
  return out;
}

Buffer seal_header(ByteWriter fields) {
  fields.pad_to(kHeaderCrcOffset);
  fields.put(crc32c(fields.bytes()));
  return fields.take();
}

Result<OpenedHeader> open_header(Bytes bytes, const HeaderKind& kind) {
  if (bytes.size() != kHeaderBlockBytes) {
    return fail(Code::corrupt,
                fmt::format("a {} header is {} bytes long, not {}", kind.name, kHeaderBlockBytes, bytes.size()));
  }
  ByteReader reader(bytes.first(kHeaderCrcOffset));
  const Bytes magic = reader.get_bytes(kind.magic.size());
  if (std::ranges::all_of(magic, [](std::byte b) { return b == std::byte{}; })) {
    return fail(Code::corrupt, fmt::format("no {} header: the file was retired or never finished", kind.name));
  }
  if (text_of(magic) != kind.magic) {
    return fail(Code::corrupt, fmt::format("not a {}: it does not start with {}", kind.name, kind.magic));
  }
  const auto format = reader.get<std::uint32_t>();
  const auto order = reader.get<std::uint32_t>();
  if (order != kByteOrderMark) {
    return fail(Code::corrupt, fmt::format("{} header: byte-order mark is {:08x}, should be {:08x}", kind.name, order,
                                           kByteOrderMark));
  }
  const std::uint32_t is = crc32c(bytes.first(kHeaderCrcOffset));
  const auto should = ByteReader(bytes.subspan(kHeaderCrcOffset)).get<std::uint32_t>();
  if (is != should) {
    return fail(Code::corrupt, fmt::format("{} header: CRC-32C is {:08x}, should be {:08x}", kind.name, is, should));
  }
  if (format > kind.format) return fail_newer_format(fmt::format("{} format", kind.name), format, kind.format);
  if (format == 0) return fail(Code::corrupt, fmt::format("{} format is 0, should be 1 or more", kind.name));
  return OpenedHeader{format, reader};
}

}  // namespace cairn
