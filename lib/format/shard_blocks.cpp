#include "format/shard_blocks.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace cairn {
namespace {

Status check_zeros(const Reader& file, std::uint64_t from, std::uint64_t to) {
  Buffer bytes(to - from);
  if (auto read = file.read(from, bytes); !read) return read;
  const auto bad = std::ranges::find_if(bytes, [](std::byte b) { return b != std::byte{}; });
  if (bad == bytes.end()) return {};
  return fail(Code::corrupt, fmt::format("padding byte {} is {:#04x}, should be 0", from + (bad - bytes.begin()),
                                         std::to_integer<unsigned>(*bad)));
}

}  // namespace

Status ShardBlocks::load_tables(bool sha) {
  crcs_.resize(header_.blocks() * kCrcBytes);
  if (sha) shas_.resize(header_.sha_bytes());
  return file_.read(header_.crc_offset(), crcs_)
      .and_then([&] { return check_crc_table(header_, crcs_); })
      .and_then([&] { return shas_.empty() ? Status() : file_.read(header_.sha_offset(), shas_); });
}

Result<Bytes> ShardBlocks::bytes(std::uint64_t block, Buffer& scratch) const {
  return view(file_, header_.data_offset + block * kBlockBytes, block_length(header_, block), scratch);
}

Status ShardBlocks::check_crc(std::uint64_t block, std::uint32_t is) const {
  const auto should = ByteReader(Bytes(crcs_).subspan(block * kCrcBytes)).get<std::uint32_t>();
  if (is != should) return fail(wrong_crc(header_.blocks(), block, is, should));
  return {};
}

Status ShardBlocks::check_sha(std::uint64_t block, Bytes bytes) const {
  if (shas_.empty()) return {};
  const Sha256 should = sha_at(shas_, block);
  if (const Sha256 is = sha256(bytes); is != should) return fail(wrong_sha(header_, block, is, should));
  return {};
}

Status check_entry(const ShardHeader& header, const ShardEntry& expected) {
  if (header.rank != expected.rank) {
    return fail(Code::corrupt,
                fmt::format("it is a shard of rank {}, should be of rank {}", header.rank.value, expected.rank.value));
  }
  if (header.file_bytes() != expected.bytes) {
    return fail(Code::corrupt, fmt::format("it is {} bytes long, should be {}", header.file_bytes(), expected.bytes));
  }
  return {};
}

Status check_padding(const ShardFile& shard) {
  const ShardHeader& header = shard.header();
  const Reader& file = shard.file();
  return check_zeros(file, kShardHeaderBytes + header.table_bytes, header.data_offset)
      .and_then([&] { return check_zeros(file, header.data_offset + header.data_bytes, header.crc_offset()); })
      .and_then(
          [&] { return check_zeros(file, header.crc_offset() + header.blocks() * kCrcBytes, header.sha_offset()); })
      .and_then([&] { return check_zeros(file, header.sha_offset() + header.sha_bytes(), header.file_bytes()); });
}

}  // namespace cairn
