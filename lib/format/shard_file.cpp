#include "format/shard_file.hpp"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "codec/crc32c.hpp"
#include "format/shard_blocks.hpp"
#include "format/shard_codec.hpp"

namespace cairn {
namespace {

// Read and then summed before the next piece, so that it stays in the cache of a core.
constexpr std::uint64_t kReadPieceBytes = 64 * kKiB;
static_assert(kBlockBytes % kReadPieceBytes == 0);

// Copies what `parts` want of a piece that begins at `begin`, from position `next` on.
void copy_out(Bytes piece, std::uint64_t begin, std::span<const ShardFile::Part> parts, std::size_t& next) {
  const std::uint64_t end = begin + piece.size();
  while (next < parts.size() && parts[next].begin < end) {
    const ShardFile::Part& part = parts[next];
    const std::uint64_t from = std::max(part.begin, begin);
    const std::uint64_t to = std::min(part.end(), end);
    copy_bytes(piece.subspan(from - begin, to - from), part.into.subspan(from - part.begin));
    if (part.end() > end) return;
    ++next;
  }
}

}  // namespace

Result<ShardFile> ShardFile::open(const Store& store, const FileName& name) {
  auto file = store.open(name);
  if (!file) return fail(file.error());
  return open(std::move(*file), name);
}

Result<ShardFile> ShardFile::open(std::shared_ptr<const Reader> file, const FileName& name) {
  const std::uint64_t size = file->size_bytes();
  if (size < kShardHeaderBytes)
    return fail_in_file(Code::corrupt, name.path, fmt::format("{} bytes are too short for a shard", size));
  Buffer first(kShardHeaderBytes);
  if (auto read = file->read(0, first); !read) return fail(read.error());
  const auto header = decode_shard_header(first);
  if (!header) return fail(header.error().in_file(name.path));
  if (size != header->file_bytes()) {
    return fail_in_file(Code::corrupt, name.path,
                        fmt::format("it is {} bytes long, should be {}", size, header->file_bytes()));
  }
  return ShardFile(std::move(file), name.path, *header);
}

Result<Buffer> ShardFile::table() const {
  Buffer table(header_.table_bytes);
  if (auto read = file_->read(kShardHeaderBytes, table); !read) return fail(read.error());
  if (auto good = check_region_table(header_, table); !good) return fail(good.error().in_file(name_));
  return table;
}

Result<bool> ShardFile::has_table(Bytes table) const {
  if (table.size() != header_.table_bytes) return false;
  Buffer scratch(std::min<std::uint64_t>(kReadPieceBytes, table.size()));
  for (std::uint64_t at = 0; at < table.size(); at += scratch.size()) {
    const MutableBytes piece = MutableBytes(scratch).first(std::min<std::uint64_t>(scratch.size(), table.size() - at));
    if (auto read = file_->read(kShardHeaderBytes + at, piece); !read) return fail(read.error());
    if (std::memcmp(piece.data(), table.data() + at, piece.size()) != 0) return false;
  }
  return true;
}

Result<Buffer> ShardFile::frame() const {
  Buffer frame(ShardFrame::length(header_));
  const MutableBytes all(frame);
  const std::uint64_t crc_bytes = header_.blocks() * kCrcBytes;
  const std::uint64_t crc_at = kShardHeaderBytes + header_.table_bytes;
  auto read = file_->read(0, all.first(crc_at))
                  .and_then([&] { return file_->read(header_.crc_offset(), all.subspan(crc_at, crc_bytes)); })
                  .and_then([&] {
                    const MutableBytes shas = all.subspan(crc_at + crc_bytes);
                    return shas.empty() ? Status() : file_->read(header_.sha_offset(), shas);
                  });
  if (!read) return fail(read.error());
  return frame;
}

// A piece that one part takes whole is read straight into it.
Result<std::uint32_t> ShardFile::read_block(std::uint64_t block, std::span<const Part> parts, std::size_t& next) const {
  Buffer scratch;
  std::uint32_t crc = 0;
  const std::uint64_t block_begin = block * kBlockBytes;
  const std::uint64_t block_end = block_begin + block_length(header_, block);
  for (std::uint64_t begin = block_begin; begin < block_end; begin += kReadPieceBytes) {
    const std::uint64_t end = std::min(begin + kReadPieceBytes, block_end);
    MutableBytes piece;
    const bool whole = next < parts.size() && parts[next].begin <= begin && parts[next].end() >= end;
    if (whole) {
      piece = parts[next].into.subspan(begin - parts[next].begin, end - begin);
    } else {
      scratch.resize(kReadPieceBytes);
      piece = MutableBytes(scratch).first(end - begin);
    }
    if (auto read = file_->read(header_.data_offset + begin, piece); !read) return fail(read.error());
    crc = crc32c(piece, crc);
    if (!whole) copy_out(piece, begin, parts, next);
    if (whole && parts[next].end() == end) ++next;
  }
  return crc;
}

Status ShardFile::read_parts(std::span<const Part> parts) const {
  if (parts.empty()) return {};
  ShardBlocks blocks(*file_, header_);
  if (auto loaded = blocks.load_tables(false); !loaded) return loaded;
  std::uint64_t block = 0;
  for (std::size_t next = 0; next < parts.size(); ++block) {
    block = std::max(block, parts[next].begin / kBlockBytes);
    const auto crc = read_block(block, parts, next);
    if (!crc) return fail(crc.error());
    if (auto good = blocks.check_crc(block, *crc); !good) return fail(good.error().in(name_));
  }
  return {};
}

}  // namespace cairn
