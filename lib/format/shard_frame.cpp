#include <fmt/format.h>

#include "format/shard_codec.hpp"

namespace cairn {

Result<ShardFrame> ShardFrame::parse(Buffer bytes) {
  if (bytes.size() < kShardHeaderBytes) {
    return fail(Code::corrupt,
                fmt::format("a shard's frame is {} bytes long, not {} or more", bytes.size(), kShardHeaderBytes));
  }
  ShardFrame frame;
  frame.bytes = std::move(bytes);
  auto header = decode_shard_header(frame.header_bytes());
  if (!header) return fail(header.error());
  frame.header = *header;
  if (frame.bytes.size() != length(*header)) {
    return fail(Code::corrupt,
                fmt::format("a shard's frame is {} bytes long, should be {}", frame.bytes.size(), length(*header)));
  }
  auto table = decode_region_table(frame.table(), *header);
  if (!table) return fail(table.error());
  frame.regions = std::move(table->regions);
  if (auto good = check_crc_table(*header, frame.crcs()); !good) return fail(good.error());
  return frame;
}

std::uint32_t ShardFrame::crc(std::uint64_t block) const {
  return ByteReader(crcs().subspan(block * kCrcBytes)).get<std::uint32_t>();
}

Sha256 sha_at(Bytes shas, std::uint64_t block) {
  Sha256 digest;
  const Bytes from = shas.subspan(block * kShaBytes, kShaBytes);
  std::memcpy(digest.bytes.data(), from.data(), kShaBytes);
  return digest;
}

}  // namespace cairn
