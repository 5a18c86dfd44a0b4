#include <algorithm>
#include <array>
#include <string_view>
#include <unordered_set>

#include <fmt/format.h>

#include "codec/crc32c.hpp"
#include "format/shard_codec.hpp"
#include "store/names.hpp"

namespace cairn {
namespace {

constexpr std::array<std::byte, kShardAlignment> kZeros{};

// Where everything will be, from sizes alone.
ShardHeader plan_file(std::span<const RegionData> regions) {
  ShardHeader header;
  header.regions = static_cast<std::uint32_t>(regions.size());
  for (const auto& region : regions) {
    const RegionInfo& info = region.info;
    constexpr std::uint64_t kFixedBytes = 8 + 8 + 4 + 1 + 4 + 4 + 4 + 4;
    header.table_bytes += kFixedBytes + info.name.size() + info.type_name.size() +
                          8 * (info.shape.size() + info.global_shape.size() + info.global_offset.size());
    header.data_bytes = round_up(header.data_bytes, kRegionAlignment) + info.size_bytes();
  }
  header.data_offset = round_up(kShardHeaderBytes + header.table_bytes, kShardAlignment);
  return header;
}

Buffer make_table(std::span<const RegionData> regions, std::uint64_t data_offset) {
  ByteWriter table;
  std::uint64_t offset = data_offset;
  for (const auto& region : regions) {
    offset = round_up(offset, kRegionAlignment);
    put_entry(table, region.info, offset);
    offset += region.info.size_bytes();
  }
  return table.take();
}

Status check_regions(std::span<const RegionData> regions) {
  std::unordered_set<std::string_view> names(regions.size() * 2);
  std::uint64_t total = 0;
  for (const auto& region : regions) {
    if (auto good = check(region.info); !good) return good;
    if (region.bytes.size() != region.info.size_bytes()) {
      return fail(Code::invalid_argument,
                  fmt::format("region \"{}\": {} bytes are given, {} is {} bytes long", region.info.name,
                              region.bytes.size(), region.info.type_text(), region.info.size_bytes()));
    }
    total += region.bytes.size();
    if (!names.insert(region.info.name).second) {
      return fail(Code::invalid_argument, fmt::format("region \"{}\" is protected twice", region.info.name),
                  "give each region a name of its own");
    }
  }
  if (regions.size() > UINT32_MAX || total > (1ULL << 59U)) {
    return fail(Code::invalid_argument,
                fmt::format("{} regions of {} bytes do not fit a shard", regions.size(), total));
  }
  return {};
}

}  // namespace

DataSection::DataSection(std::uint64_t data_bytes, MutableBytes mapping, Done done)
    : data_bytes_(data_bytes), mapping_(mapping), done_(std::move(done)) {
  if (mapping_.empty()) buffer_.resize(std::min(data_bytes, kBlockBytes));
}

Status DataSection::put(Bytes bytes) {
  while (!bytes.empty()) {
    if (position_ == data_bytes_) {
      return fail(Code::invalid_argument, fmt::format("more than {} bytes of data for a shard", data_bytes_));
    }
    const std::uint64_t block = position_ / kBlockBytes;
    const std::uint64_t begin = block * kBlockBytes;
    const std::uint64_t end = std::min(begin + kBlockBytes, data_bytes_);
    const MutableBytes place = mapping_.empty() ? MutableBytes(buffer_) : mapping_.subspan(begin, end - begin);
    const std::uint64_t count = std::min<std::uint64_t>(bytes.size(), end - position_);
    crc_ = copy_crc32c(place.subspan(position_ - begin, count), bytes.first(count), crc_);
    position_ += count;
    bytes = bytes.subspan(count);
    if (position_ == end) {
      if (auto done = done_(block, place.first(end - begin), crc_); !done) return done;
      crc_ = 0;
    }
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

Result<ShardOutput> ShardOutput::create(Store& store, const FileName& name, const ShardHeader& header) {
  auto writer = store.create(name, header.file_bytes(), names::owner_rank(header.rank));
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
  // In a mapped file the bytes are where they belong already.
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

Status ShardOutput::finish(const Parts& parts, bool sync) {
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
      .and_then([&] { return writer_->commit(header_.file_bytes(), sync); });
}

std::uint64_t shard_file_bytes(std::span<const RegionData> regions) { return plan_file(regions).file_bytes(); }

Result<std::uint64_t> write_shard(Store& store, const FileName& name, const ShardIdentity& who,
                                  std::span<const RegionData> regions) {
  if (auto good = check_regions(regions); !good) return fail(good.error().in(name.path));
  ShardHeader header = plan_file(regions);
  header.identity = who.identity;
  header.safe_point = who.safe_point;
  header.rank = who.rank;
  header.ranks = who.ranks;
  const Buffer table = make_table(regions, header.data_offset);
  header.table_crc = crc32c(table);

  auto out = ShardOutput::create(store, name, header);
  if (!out) return fail(out.error());
  ByteWriter crcs;
  DataSection data(header.data_bytes, out->mapped_data(), [&](std::uint64_t block, Bytes bytes, std::uint32_t crc) {
    crcs.put(crc);
    return out->write_block(block, bytes);
  });
  std::uint64_t end = 0;
  for (const auto& region : regions) {
    const std::uint64_t begin = round_up(end, kRegionAlignment);
    auto done = data.zeros_to(begin).and_then([&] { return data.put(region.bytes); });
    if (!done) return fail(done.error());
    end = begin + region.bytes.size();
  }
  // The digests are the head's to fill in.
  const Buffer shas(header.blocks() * kShaBytes);
  auto done = out->finish({encode(header), table, crcs.bytes(), shas}, false);
  if (!done) return fail(done.error());
  return header.file_bytes();
}

}  // namespace cairn
