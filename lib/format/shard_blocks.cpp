#include "format/shard_blocks.hpp"

#include "codec/crc32c.hpp"

namespace cairn {

Status ShardBlocks::load_tables(bool sha) {
  crcs_.resize(header_.blocks() * kCrcBytes);
  if (sha) shas_.resize(header_.blocks() * kShaBytes);
  return file_.read(header_.crc_offset(), crcs_).and_then([&] {
    return sha ? file_.read(header_.sha_offset(), shas_) : Status();
  });
}

Result<Bytes> ShardBlocks::bytes(std::uint64_t block, Buffer& scratch) const {
  return view(file_, header_.data_offset + block * kBlockBytes, block_length(header_, block), scratch);
}

Status ShardBlocks::check_crc(std::uint64_t block, std::uint32_t is) const {
  const auto should = ByteReader(Bytes(crcs_).subspan(block * kCrcBytes)).get<std::uint32_t>();
  if (is != should) return fail(wrong_crc(header_, block, is, should));
  return {};
}

Status ShardBlocks::check_sha(std::uint64_t block, Bytes bytes) const {
  Sha256 should;
  std::memcpy(should.bytes.data(), shas_.data() + block * kShaBytes, kShaBytes);
  if (const Sha256 is = sha256(bytes); is != should) return fail(wrong_sha(header_, block, is, should));
  return {};
}

}  // namespace cairn
