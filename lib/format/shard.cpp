#include "format/shard.hpp"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "codec/crc32c.hpp"
#include "format/shard_blocks.hpp"
#include "format/shard_codec.hpp"

namespace cairn {
namespace {

// A target in the data section; begin and end are counted from its start.
struct Part {
  std::uint64_t begin;
  std::uint64_t end;
  MutableBytes into;
};

Result<std::vector<Part>> parts_in_order(const Shard& shard, std::span<const Shard::Target> targets) {
  std::vector<Part> parts;
  parts.reserve(targets.size());
  const auto& regions = shard.regions();
  for (const auto& target : targets) {
    if (target.region >= regions.size()) {
      return fail(Code::invalid_argument,
                  fmt::format("region {} is asked for, but the shard has {} regions", target.region, regions.size()));
    }
    const PlacedRegion& region = regions[target.region];
    if (target.into.size() != region.info.size_bytes()) {
      return fail(Code::mismatch, fmt::format("region \"{}\" is {} bytes long here, {} bytes are asked for",
                                              region.info.name, region.info.size_bytes(), target.into.size()));
    }
    const std::uint64_t begin = region.offset - shard.header().data_offset;
    if (!target.into.empty()) parts.push_back({begin, begin + target.into.size(), target.into});
  }
  std::ranges::sort(parts, {}, &Part::begin);
  for (std::size_t i = 1; i < parts.size(); ++i) {
    if (parts[i].begin < parts[i - 1].end) return fail(Code::invalid_argument, "one region is asked for twice");
  }
  return parts;
}

// Copies what `parts` want of a block, from position `next` on; returns the block's CRC-32C. One pass: what is
// not wanted is read for the checksum only.
std::uint32_t copy_parts(Bytes block, std::uint64_t block_begin, std::span<const Part> parts, std::size_t& next) {
  const std::uint64_t block_end = block_begin + block.size();
  std::uint64_t at = block_begin;
  std::uint32_t crc = 0;
  while (next < parts.size() && parts[next].begin < block_end) {
    const Part& part = parts[next];
    const std::uint64_t begin = std::max(part.begin, block_begin);
    const std::uint64_t end = std::min(part.end, block_end);
    crc = crc32c(block.subspan(at - block_begin, begin - at), crc);
    crc = copy_crc32c(part.into.subspan(begin - part.begin, end - begin),
                      block.subspan(begin - block_begin, end - begin), crc);
    at = end;
    if (part.end > block_end) break;
    ++next;
  }
  return crc32c(block.subspan(at - block_begin), crc);
}

Result<Shard> name_it(Error error, const FileName& name) { return fail(error.in_file(name.path)); }

}  // namespace

Result<Shard> Shard::open(const Store& store, const FileName& name) {
  auto file = store.open(name);
  if (!file) return fail(file.error());
  return open(std::move(*file), name);
}

Result<Shard> Shard::open(std::shared_ptr<const Reader> file, const FileName& name) {
  Shard shard;
  shard.name_ = name.path;
  shard.file_ = std::move(file);
  const std::uint64_t size = shard.file_->size_bytes();
  if (size < kShardHeaderBytes) {
    return name_it({Code::corrupt, fmt::format("{} bytes are too short for a shard", size), {}}, name);
  }
  Buffer first(kShardHeaderBytes);
  if (auto read = shard.file_->read(0, first); !read) return fail(read.error());
  auto header = decode_shard_header(first);
  if (!header) return name_it(header.error(), name);
  shard.header_ = *header;
  if (size != header->file_bytes()) {
    return name_it({Code::corrupt, fmt::format("{} bytes long, should be {}", size, header->file_bytes()), {}}, name);
  }
  Buffer table(header->table_bytes);
  if (auto read = shard.file_->read(kShardHeaderBytes, table); !read) return fail(read.error());
  auto regions = decode_region_table(table, *header);
  if (!regions) return name_it(regions.error(), name);
  shard.regions_ = std::move(*regions);
  shard.by_name_.resize(shard.regions_.size());
  std::iota(shard.by_name_.begin(), shard.by_name_.end(), 0U);
  std::ranges::sort(shard.by_name_, {},
                    [&](std::uint32_t region) -> const std::string& { return shard.regions_[region].info.name; });
  return shard;
}

Result<std::size_t> Shard::find(const std::string& name) const {
  const auto name_of = [this](std::uint32_t region) -> const std::string& { return regions_[region].info.name; };
  const auto found = std::ranges::lower_bound(by_name_, name, {}, name_of);
  if (found == by_name_.end() || name_of(*found) != name) {
    return fail(Code::not_found, fmt::format("{}: no region \"{}\"", name_, name));
  }
  return *found;
}

Status Shard::read(std::span<const Target> targets, bool sha) const {
  auto parts = parts_in_order(*this, targets);
  if (!parts) return fail(parts.error().in(name_));
  if (parts->empty()) return {};
  ShardBlocks blocks(*file_, header_);
  Buffer scratch;
  if (auto loaded = blocks.load_tables(sha); !loaded) return loaded;
  std::uint64_t block = 0;
  for (std::size_t next = 0; next < parts->size(); ++block) {
    block = std::max(block, (*parts)[next].begin / kBlockBytes);
    auto bytes = blocks.bytes(block, scratch);
    if (!bytes) return fail(bytes.error());
    const std::uint32_t crc = copy_parts(*bytes, block * kBlockBytes, *parts, next);
    auto good = blocks.check_crc(block, crc).and_then([&] { return sha ? blocks.check_sha(block, *bytes) : Status(); });
    if (!good) return fail(good.error().in(name_));
  }
  return {};
}

Result<Buffer> Shard::frame() const {
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

}  // namespace cairn
