#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "codec/crc32c.hpp"
#include "format/shard_codec.hpp"
#include "format/shard_plan.hpp"
#include "store/names.hpp"

namespace cairn {
namespace {

constexpr std::array<std::byte, kShardAlignment> kZeros{};
// Copied and then summed before the next piece, so that source and copy stay in the cache of a core.
constexpr std::uint64_t kWritePieceBytes = 16 * kKiB;
static_assert(kBlockBytes % kWritePieceBytes == 0);

}  // namespace

DataSection::DataSection(std::uint64_t data_bytes, MutableBytes mapping, Done done)
    : data_bytes_(data_bytes), mapping_(mapping), done_(std::move(done)) {
  if (mapping_.empty()) buffer_.resize(std::min(data_bytes, kBlockBytes));
}

Status DataSection::put(Bytes bytes) {
  return pieces(bytes.size(), [&](MutableBytes into) -> Status {
    std::memcpy(into.data(), bytes.data(), into.size());
    bytes = bytes.subspan(into.size());
    return {};
  });
}

Status DataSection::take(std::uint64_t count, const Fill& fill) { return pieces(count, fill); }

template <class Filler>
Status DataSection::pieces(std::uint64_t left, const Filler& fill) {
  while (left > 0) {
    if (position_ == data_bytes_) {
      return fail_internal(Code::invalid_argument, fmt::format("more than {} bytes of data for a shard", data_bytes_));
    }
    const std::uint64_t block_begin = position_ / kBlockBytes * kBlockBytes;
    const std::uint64_t block_end = std::min(block_begin + kBlockBytes, data_bytes_);
    const std::uint64_t piece_end =
        std::min(position_ / kWritePieceBytes * kWritePieceBytes + kWritePieceBytes, block_end);
    const MutableBytes block =
        mapping_.empty() ? MutableBytes(buffer_) : mapping_.subspan(block_begin, block_end - block_begin);
    const std::uint64_t count = std::min<std::uint64_t>(left, piece_end - position_);
    if (auto filled = fill(block.subspan(position_ - block_begin, count)); !filled) return filled;
    position_ += count;
    left -= count;
    if (position_ < piece_end) return {};
    // The checksum is computed from the copy, because the copy is what is stored.
    crc_ = crc32c(block.subspan(summed_ - block_begin, piece_end - summed_), crc_);
    summed_ = piece_end;
    if (piece_end < block_end) continue;
    if (auto done = done_(block_begin / kBlockBytes, block.first(block_end - block_begin), crc_); !done) return done;
    crc_ = 0;
  }
  return {};
}

Status DataSection::zeros_to(std::uint64_t position) {
  while (position_ < position) {
    const std::uint64_t count = std::min<std::uint64_t>(position - position_, kZeros.size());
    if (auto done = put(Bytes(kZeros).first(count)); !done) return done;
  }
  return {};
}

Result<ShardOutput> ShardOutput::create(Store& store, const FileName& name, const ShardHeader& header,
                                        const std::string& owner) {
  auto writer = store.create(name, header.file_bytes(), owner);
  if (!writer) return fail(writer.error());
  ShardOutput out;
  out.header_ = header;
  out.writer_ = std::move(*writer);
  const MutableBytes mapping = out.writer_->mapping();
  if (mapping.size() >= header.file_bytes()) out.mapping_ = mapping;
  return out;
}

MutableBytes ShardOutput::mapped_data() {
  return mapping_.empty() ? mapping_ : mapping_.subspan(header_.data_offset, header_.data_bytes);
}

Status ShardOutput::write_block(std::uint64_t block, Bytes bytes) {
  // In a mapped file the bytes are in their place already.
  if (!mapping_.empty()) return {};
  return put(header_.data_offset + block * kBlockBytes, bytes);
}

Status ShardOutput::put(std::uint64_t offset, Bytes bytes) {
  if (bytes.empty()) return {};
  if (mapping_.empty()) return writer_->write(offset, bytes);
  std::memcpy(mapping_.data() + offset, bytes.data(), bytes.size());
  return {};
}

// A recycled file holds old bytes: padding is written, never assumed.
Status ShardOutput::zeros(std::uint64_t from, std::uint64_t to) { return put(from, Bytes(kZeros).first(to - from)); }

Result<PendingFile> ShardOutput::finish(const Parts& parts) && {
  const std::uint64_t table_end = kShardHeaderBytes + parts.table.size();
  const std::uint64_t crc_end = header_.crc_offset() + parts.crcs.size();
  const std::uint64_t sha_end = header_.sha_offset() + parts.shas.size();
  return zeros(header_.data_offset + header_.data_bytes, header_.crc_offset())
      .and_then([&] { return put(header_.crc_offset(), parts.crcs); })
      .and_then([&] { return zeros(crc_end, header_.sha_offset()); })
      .and_then([&] { return put(header_.sha_offset(), parts.shas); })
      .and_then([&] { return zeros(sha_end, header_.file_bytes()); })
      .and_then([&] { return put(kShardHeaderBytes, parts.table); })
      .and_then([&] { return zeros(table_end, header_.data_offset); })
      .and_then([&] { return put(0, parts.header); })
      .map([&] {
        return PendingFile{std::move(writer_), header_.file_bytes()};
      });
}

Result<std::uint64_t> write_shard(Store& store, const FileName& name, const ShardIdentity& who, const ShardPlan& plan,
                                  std::span<const Bytes> regions, const ReadRegion& read) {
  ShardHeader header = plan.header();
  header.identity = who.identity;
  header.safe_point = who.safe_point;
  header.rank = who.rank;
  header.ranks = who.ranks;
  if (regions.size() != header.regions) {
    return fail_in_file(Code::invalid_argument, name.path,
                        fmt::format("{} regions are given, {} are planned", regions.size(), header.regions));
  }
  auto out = ShardOutput::create(store, name, header, names::owner_rank(header.rank));
  if (!out) return fail(out.error());
  Buffer crcs;
  crcs.reserve(header.blocks() * kCrcBytes);
  DataSection data(header.data_bytes, out->mapped_data(), [&](std::uint64_t block, Bytes bytes, std::uint32_t crc) {
    const Bytes sum = std::as_bytes(std::span(&crc, 1));
    crcs.insert(crcs.end(), sum.begin(), sum.end());
    return out->write_block(block, bytes);
  });
  for (std::size_t i = 0; i < regions.size(); ++i) {
    const ShardPlan::Extent& place = plan.places()[i];
    if (regions[i].empty() && place.bytes > 0 && read) {
      std::uint64_t offset = 0;
      const auto next = [&](MutableBytes into) { return read(i, std::exchange(offset, offset + into.size()), into); };
      auto done = data.zeros_to(place.begin).and_then([&] { return data.take(place.bytes, next); });
      if (!done) return fail(done.error());
      continue;
    }
    if (regions[i].size() != place.bytes) {
      return fail_in_file(
          Code::invalid_argument, name.path,
          fmt::format("region {}: {} bytes are given, it is {} bytes long", i, regions[i].size(), place.bytes));
    }
    auto done = data.zeros_to(place.begin).and_then([&] { return data.put(regions[i]); });
    if (!done) return fail(done.error());
  }
  header.crcs_crc = header.digest == BlockDigest::crc32c ? crc32c(crcs) : 0;
  // The head fills in the digests later.
  const Buffer shas(header.sha_bytes());
  auto file = std::move(*out).finish({encode(header), plan.table(), crcs, shas});
  if (!file) return fail(file.error());
  if (auto named = file->writer->commit(file->bytes, false); !named) return fail(named.error());
  return header.file_bytes();
}

}  // namespace cairn
