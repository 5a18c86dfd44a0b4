#include "format/shard.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "format/shard_codec.hpp"

namespace cairn {
namespace {

Result<std::vector<ShardFile::Part>> parts_in_order(const Shard& shard, std::span<const Shard::Target> targets) {
  std::vector<ShardFile::Part> parts;
  parts.reserve(targets.size());
  const auto& regions = shard.regions();
  for (const auto& target : targets) {
    if (target.region >= regions.size()) {
      return fail_internal(Code::invalid_argument, fmt::format("region {} is requested, but the shard has {} regions",
                                                               target.region, regions.size()));
    }
    const PlacedRegion& region = regions[target.region];
    if (target.into.size() != region.info.size_bytes()) {
      return fail(Code::mismatch, fmt::format("region \"{}\" is {} bytes long here, but {} bytes are requested",
                                              region.info.name, region.info.size_bytes(), target.into.size()));
    }
    if (!target.into.empty()) parts.push_back({region.offset - shard.header().data_offset, target.into});
  }
  std::ranges::sort(parts, {}, &ShardFile::Part::begin);
  for (std::size_t i = 1; i < parts.size(); ++i) {
    if (parts[i].begin < parts[i - 1].end())
      return fail_internal(Code::invalid_argument, "one region is requested twice");
  }
  return parts;
}

}  // namespace

Result<Shard> Shard::open(const Store& store, const FileName& name) {
  auto file = ShardFile::open(store, name);
  return file ? of(std::move(*file)) : fail(file.error());
}

Result<Shard> Shard::open(std::shared_ptr<const Reader> reader, const FileName& name) {
  auto file = ShardFile::open(std::move(reader), name);
  return file ? of(std::move(*file)) : fail(file.error());
}

Result<Shard> Shard::of(ShardFile file) {
  const auto bytes = file.table();
  if (!bytes) return fail(bytes.error());
  auto table = decode_region_table(*bytes, file.header());
  if (!table) return fail(table.error().in_file(file.name()));
  return Shard(std::move(file), std::move(*table));
}

Result<std::size_t> Shard::find(std::string_view name) const {
  const auto found = table_.find(name);
  if (!found) return fail(Code::not_found, fmt::format("{}: no region \"{}\"", this->name(), name));
  return *found;
}

Status Shard::read(std::span<const Target> targets) const {
  const auto parts = parts_in_order(*this, targets);
  return parts ? read_parts(*parts) : fail(parts.error().in(name()));
}

Status Shard::read_region(std::size_t region, std::span<const Part> parts) const {
  if (parts.empty()) return {};
  const PlacedRegion& placed = regions().at(region);
  const std::uint64_t size = placed.info.size_bytes();
  if (parts.back().begin > size || parts.back().into.size() > size - parts.back().begin)
    return fail(Code::invalid_argument, fmt::format("region {} has {} bytes", placed.info.name, size));
  std::vector<Part> in_shard(parts.begin(), parts.end());
  for (Part& part : in_shard) part.begin += placed.offset - header().data_offset;
  return read_parts(in_shard);
}

Status read_in_blocks(const ShardFile& shard, const PlacedRegion& region, const std::function<Status(Bytes)>& use) {
  const std::uint64_t size = region.info.size_bytes();
  const std::uint64_t begin = region.offset - shard.header().data_offset;
  Buffer piece;
  for (std::uint64_t done = 0; done < size; done += piece.size()) {
    piece.resize(std::min(size - done, kBlockBytes - (begin + done) % kBlockBytes));
    const ShardFile::Part part{begin + done, piece};
    if (auto read = shard.read_parts({&part, 1}); !read) return read;
    if (auto used = use(piece); !used) return used;
  }
  return {};
}

}  // namespace cairn
