#include "format/shard_codec.hpp"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "codec/crc32c.hpp"
#include "format/header_block.hpp"

namespace cairn {
namespace {

constexpr HeaderKind kShardKind{"CAIRNSHD", "shard", kShardFormat};
constexpr std::uint32_t kWithShas = 1;  // formats
constexpr std::uint32_t kWithoutShas = 2;
constexpr std::uint32_t kGhosts = 2;  // more than these, where a region has ghosts
// In the number of dimensions of a region's place.
constexpr std::uint32_t kGhostsFollow = 1U << 31U;
static_assert(kShardHeaderBytes == kHeaderBlockBytes);

constexpr std::uint64_t kLeastEntryBytes = 37;     // of a scalar without a name
constexpr std::uint64_t kMostBytes = 1ULL << 60U;  // keeps every sum of lengths far from overflow

tl::unexpected<Error> bad_table(std::size_t region, const std::string& what) {
  return fail(Code::corrupt, fmt::format("region table: region {}: {}", region, what));
}

std::vector<std::uint64_t> get_numbers(ByteReader& in, std::uint32_t count) {
  std::vector<std::uint64_t> numbers(count);
  for (auto& number : numbers) number = in.get<std::uint64_t>();
  return numbers;
}

struct Entry {
  PlacedRegion region;
  std::uint64_t bytes = 0;
};

Result<Entry> get_entry(ByteReader& in, std::size_t index) {
  Entry entry;
  RegionInfo& info = entry.region.info;
  entry.region.offset = in.get<std::uint64_t>();
  entry.bytes = in.get<std::uint64_t>();
  info.name = in.get_text();
  info.type = static_cast<ElementType>(in.get<std::uint8_t>());
  info.element_bytes = in.get<std::uint32_t>();
  info.type_name = in.get_text();
  const auto dimensions = in.get<std::uint32_t>();
  if (dimensions > kMostDimensions) return bad_table(index, fmt::format("{} dimensions", dimensions));
  info.shape = get_numbers(in, dimensions);
  const auto place = in.get<std::uint32_t>();
  const std::uint32_t global_dimensions = place & ~kGhostsFollow;
  if (global_dimensions > kMostDimensions) return bad_table(index, fmt::format("{} dimensions", global_dimensions));
  info.global_shape = get_numbers(in, global_dimensions);
  info.global_offset = get_numbers(in, global_dimensions);
  if (place != global_dimensions) {
    if (global_dimensions == 0) return bad_table(index, "ghosts of no array");
    info.ghosts_before = get_numbers(in, global_dimensions);
    info.ghosts_after = get_numbers(in, global_dimensions);
  }
  if (!in.good()) return bad_table(index, "the table ends inside its entry");
  if (auto good = check(info); !good) return bad_table(index, good.error().message);
  if (entry.bytes != info.size_bytes()) {
    return bad_table(index,
                     fmt::format("\"{}\" is {} bytes long, should be {}", info.name, entry.bytes, info.size_bytes()));
  }
  return entry;
}

}  // namespace

Buffer encode(const ShardHeader& header) {
  const std::uint32_t format = header.digest == BlockDigest::sha256 ? kWithShas : kWithoutShas;
  ByteWriter out = begin_header(kShardKind, format + (header.has_ghosts ? kGhosts : 0));
  out.put(header.identity.incarnation.value);
  out.put(header.identity.version.value);
  out.put(header.identity.run.value);
  out.put(header.safe_point);
  out.put(header.rank.value);
  out.put(header.ranks);
  out.put(header.regions);
  out.put(header.table_crc);
  out.put(header.table_bytes);
  out.put(header.data_offset);
  out.put(header.data_bytes);
  if (header.digest == BlockDigest::crc32c) out.put(header.crcs_crc);
  return seal_header(std::move(out));
}

Result<ShardHeader> decode_shard_header(Bytes bytes) {
  auto opened = open_header(bytes, kShardKind);
  if (!opened) return fail(opened.error());
  ByteReader& in = opened->fields;
  ShardHeader header;
  header.has_ghosts = opened->format > kGhosts;
  const bool has_shas = opened->format - (header.has_ghosts ? kGhosts : 0) == kWithShas;
  header.digest = has_shas ? BlockDigest::sha256 : BlockDigest::crc32c;
  header.identity.incarnation = {in.get<std::uint32_t>()};
  header.identity.version = {in.get<std::uint32_t>()};
  header.identity.run = {in.get<std::uint64_t>()};
  header.safe_point = in.get<std::uint64_t>();
  header.rank = {in.get<std::uint32_t>()};
  header.ranks = in.get<std::uint32_t>();
  header.regions = in.get<std::uint32_t>();
  header.table_crc = in.get<std::uint32_t>();
  header.table_bytes = in.get<std::uint64_t>();
  header.data_offset = in.get<std::uint64_t>();
  header.data_bytes = in.get<std::uint64_t>();
  if (header.digest == BlockDigest::crc32c) header.crcs_crc = in.get<std::uint32_t>();

  if (header.rank.value >= header.ranks) {
    return fail(Code::corrupt,
                fmt::format("shard header: rank is {}, should be below {}", header.rank.value, header.ranks));
  }
  if (header.table_bytes > kMostBytes || header.data_bytes > kMostBytes ||
      header.table_bytes / kLeastEntryBytes < header.regions) {
    return fail(Code::corrupt,
                fmt::format("shard header: {} regions with {} bytes of table and {} bytes of data are impossible",
                            header.regions, header.table_bytes, header.data_bytes));
  }
  const std::uint64_t data_offset = round_up(kShardHeaderBytes + header.table_bytes, kShardAlignment);
  if (header.data_offset != data_offset) {
    return fail(Code::corrupt, fmt::format("shard header: the data section is at byte {}, should be at {}",
                                           header.data_offset, data_offset));
  }
  return header;
}

std::uint64_t entry_bytes(const RegionInfo& info) {
  constexpr std::uint64_t kFixedBytes = 8 + 8 + 4 + 1 + 4 + 4 + 4 + 4;
  return kFixedBytes + info.name.size() + info.type_name.size() +
         8 * (info.shape.size() + info.global_shape.size() + info.global_offset.size() + info.ghosts_before.size() +
              info.ghosts_after.size());
}

void put_entry(ByteWriter& out, const RegionInfo& info, std::uint64_t offset) {
  out.put(offset);
  out.put(info.size_bytes());
  out.put_text(info.name);
  out.put(info.type);
  out.put(info.element_bytes);
  out.put_text(info.type_name);
  out.put(static_cast<std::uint32_t>(info.shape.size()));
  for (const std::uint64_t length : info.shape) out.put(length);
  out.put(static_cast<std::uint32_t>(info.global_shape.size()) | (info.has_ghosts() ? kGhostsFollow : 0));
  for (const std::uint64_t length : info.global_shape) out.put(length);
  for (const auto* numbers : {&info.global_offset, &info.ghosts_before, &info.ghosts_after})
    for (const std::uint64_t number : *numbers) out.put(number);
}

Buffer encode(const std::vector<PlacedRegion>& table) {
  ByteWriter out;
  for (const auto& region : table) put_entry(out, region.info, region.offset);
  return out.take();
}

Status check_region_table(const ShardHeader& header, Bytes table) {
  if (table.size() != header.table_bytes) {
    return fail(Code::corrupt,
                fmt::format("region table: {} bytes long, should be {}", table.size(), header.table_bytes));
  }
  const std::uint32_t is = crc32c(table);
  if (is == header.table_crc) return {};
  return fail(Code::corrupt, fmt::format("region table: CRC-32C is {:08x}, should be {:08x}", is, header.table_crc));
}

Result<RegionTable> decode_region_table(Bytes bytes, const ShardHeader& header) {
  if (auto good = check_region_table(header, bytes); !good) return fail(good.error());
  ByteReader in(bytes);
  RegionTable table{{}, NameIndex(header.regions)};
  table.regions.reserve(header.regions);  // no more than the table has room for: the header is checked for that
  std::uint64_t end = header.data_offset;
  const std::uint64_t section_end = header.data_offset + header.data_bytes;
  for (std::size_t i = 0; i < header.regions; ++i) {
    auto entry = get_entry(in, i);
    if (!entry) return fail(entry.error());
    const std::uint64_t offset = entry->region.offset;
    if (offset < end || offset % kRegionAlignment != 0 || offset > section_end || entry->bytes > section_end - offset) {
      return bad_table(i, fmt::format("{} bytes at {} are not in order within the data section", entry->bytes, offset));
    }
    end = offset + entry->bytes;
    table.regions.push_back(std::move(entry->region));
    const auto name_at = [&](std::uint32_t region) -> std::string_view { return table.regions[region].info.name; };
    if (!table.by_name.add(static_cast<std::uint32_t>(i), name_at))
      return bad_table(i,
                       fmt::format("an earlier region is also named \"{}\"", name_at(static_cast<std::uint32_t>(i))));
  }
  if (in.remaining() != 0) {
    return fail(Code::corrupt, fmt::format("region table: {} bytes too many at its end", in.remaining()));
  }
  if (end != section_end) {
    return fail(Code::corrupt,
                fmt::format("region table: the last region ends at {}, should end at {}", end, section_end));
  }
  return table;
}

std::uint64_t block_length(const ShardHeader& header, std::uint64_t block) {
  return std::min(kBlockBytes, header.data_bytes - block * kBlockBytes);
}

Status check_crc_table(const ShardHeader& header, Bytes crcs) {
  if (header.digest != BlockDigest::crc32c) return {};
  const std::uint32_t is = crc32c(crcs);
  if (is == header.crcs_crc) return {};
  return fail(Code::corrupt, fmt::format("CRC table: CRC-32C is {:08x}, should be {:08x}", is, header.crcs_crc));
}

Error wrong_crc(std::uint64_t blocks, std::uint64_t block, std::uint32_t is, std::uint32_t should) {
  return {
      Code::corrupt, fmt::format("block {} of {}: CRC-32C is {:08x}, should be {:08x}", block, blocks, is, should), {}};
}

Error wrong_sha(const ShardHeader& header, std::uint64_t block, const Sha256& is, const Sha256& should) {
  return {Code::corrupt,
          fmt::format("block {} of {}: SHA-256 is {}, should be {}", block, header.blocks(), is.hex(), should.hex()),
          {}};
}

Error wrong_digest(const Sha256& is, const Sha256& should) {
  return {Code::corrupt, fmt::format("the digest is {}, should be {}", is.hex(), should.hex()), {}};
}

}  // namespace cairn
