// Shards and parity files: headers, region tables, and whole files.
#include <algorithm>

#include "codec/crc32c.hpp"
#include "format/header_block.hpp"
#include "format/parity_file.hpp"
#include "format/shard.hpp"
#include "format/shard_codec.hpp"
#include "fuzz/target.hpp"
#include "store/memory/memory_store.hpp"
#include "support/sample_parity.hpp"
#include "support/sample_shard.hpp"

namespace cairn::fuzz {
namespace {

constexpr std::uint64_t kFieldsAt = 16;
constexpr std::uint64_t kMostDataBytes = kBlockBytes + 64 * kKiB;  // two blocks
const FileName kFile{"file"};

void fit_header(MutableBytes block) {
  const std::uint32_t crc = crc32c(Bytes(block).first(kHeaderCrcOffset));
  std::memcpy(block.data() + kHeaderCrcOffset, &crc, sizeof crc);
}

// A header block that begins so, with the checksum that belongs to it.
Buffer block_of(Bytes beginning) {
  Buffer block(kHeaderBlockBytes);
  std::ranges::copy(beginning.first(std::min<std::uint64_t>(beginning.size(), kHeaderCrcOffset)), block.begin());
  fit_header(block);
  return block;
}

Buffer beginning_of(Bytes block) { return {block.begin(), block.begin() + 128}; }

template <class Header>
bool run_header(Bytes input, Result<Header> (*decode)(Bytes)) {
  (void)decode(input);
  Buffer block = block_of(input);
  const auto header = decode(block);
  if (header) must(decode(encode(*header)).value() == *header, "a header that is written again is the same");
  const Damage damage = damage_by(input, block.size());
  block[damage.offset] ^= damage.bit;
  must(!decode(block), "a damaged header is refused");
  return header.has_value();
}

bool run_shard_header(Bytes input) {
  const auto header = decode_shard_header(block_of(input));
  if (header) {
    must(header->data_offset <= header->crc_offset() && header->crc_offset() <= header->sha_offset() &&
             header->sha_offset() <= header->file_bytes(),
         "the parts of a shard follow each other");
  }
  return run_header(input, decode_shard_header);
}

bool run_parity_header(Bytes input) { return run_header(input, decode_parity_header); }

// Regions, u32, and bytes of data, u64; then the table.
bool run_region_table(Bytes input) {
  ByteReader in(input);
  ShardHeader header;
  header.ranks = 1;
  header.regions = in.get<std::uint32_t>();
  header.data_bytes = in.get<std::uint64_t>();
  const Bytes bytes = in.get_bytes(in.remaining());
  header.table_bytes = bytes.size();
  header.table_crc = crc32c(bytes);
  header.data_offset = round_up(kShardHeaderBytes + bytes.size(), kShardAlignment);
  if (!decode_shard_header(encode(header))) return false;
  const auto table = decode_region_table(bytes, header);
  if (!table) return false;
  must(std::ranges::equal(encode(table->regions), bytes), "a region table that is written again is the same");
  std::uint64_t end = header.data_offset;
  for (const PlacedRegion& region : table->regions) {
    must(check(region.info).has_value(), "a region of a shard is one that could be written");
    must(region.offset >= end, "regions do not overlap");
    end = region.offset + region.info.size_bytes();
    must(end <= header.data_offset + header.data_bytes, "regions lie within the data section");
  }
  return true;
}

// What makes a shard file: the fields of its header, its region table, its data; the rest is made to fit, except what
// the input says is not.
struct ShardInput {
  enum Unfit : std::uint8_t { kTable = 1, kCrcs = 2 };
  std::uint8_t unfit = 0;
  Buffer header;  // block
  Bytes table;
  Bytes data;

  explicit ShardInput(Bytes input) {
    ByteReader in(input);
    unfit = in.get<std::uint8_t>();
    const Bytes fields = in.get_bytes(std::min<std::uint64_t>(64, in.remaining()));
    table = in.get_bytes(std::min<std::uint64_t>(in.get<std::uint16_t>(), in.remaining()));
    data = in.get_bytes(in.remaining());
    header = encode(ShardHeader{});
    std::ranges::copy(fields, header.begin() + kFieldsAt);
    if ((unfit & kTable) == 0) {
      put(52, crc32c(table));
      put(56, std::uint64_t{table.size()});
      put(64, round_up(kShardHeaderBytes + table.size(), kShardAlignment));
    }
    fit_header(header);
  }
  template <class T>
  void put(std::size_t at, T value) {
    std::memcpy(header.data() + at, &value, sizeof value);
  }
};

Buffer shard_file(const ShardInput& input, const ShardHeader& header) {
  Buffer file(header.file_bytes());
  std::ranges::copy(input.header, file.begin());
  const auto put = [&](std::uint64_t offset, Bytes bytes, std::uint64_t room) {
    std::ranges::copy(bytes.first(std::min<std::uint64_t>(bytes.size(), room)),
                      file.begin() + static_cast<std::ptrdiff_t>(offset));
  };
  put(kShardHeaderBytes, input.table, header.table_bytes);
  put(header.data_offset, input.data, header.data_bytes);
  for (std::uint64_t block = 0; block < header.blocks() && (input.unfit & ShardInput::kCrcs) == 0; ++block) {
    const Bytes bytes = Bytes(file).subspan(header.data_offset + block * kBlockBytes, block_length(header, block));
    const std::uint32_t crc = crc32c(bytes);
    std::memcpy(file.data() + header.crc_offset() + block * kCrcBytes, &crc, kCrcBytes);
  }
  return file;
}

Status read_regions(const Shard& shard) {
  std::vector<Buffer> bytes;
  std::vector<Shard::Target> into;
  for (const PlacedRegion& region : shard.regions()) bytes.emplace_back(region.info.size_bytes());
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    must(shard.find(shard.regions()[i].info.name).value() == i, "a region is found by its name");
    into.push_back({i, bytes[i]});
  }
  return shard.read(into);
}

void check_whole(MemoryStore& store, Bytes input) {
  const auto entry = digest_shard(store, kFile, {});
  must(entry.has_value(), "a shard whose blocks have their checksums is digested");
  must(verify_shard(store, kFile, *entry, {}).has_value(), "a shard that was digested is verified");
  const Shard shard = Shard::open(store, kFile).value();
  must(read_regions(shard).has_value(), "a shard that was digested is read");
  const auto frame = ShardFrame::parse(shard.frame().value());
  must(frame && frame->header == shard.header(), "the frame of a shard is read");
  const std::uint64_t size = shard.file().size_bytes();
  must(store.corrupt(kFile, damage_by(input, size).offset).has_value(), "a file can be damaged");
  must(!verify_shard(store, kFile, *entry, {}), "a damaged shard is not verified");
}

bool run_shard(Bytes bytes) {
  const ShardInput input(bytes);
  const auto header = decode_shard_header(input.header);
  if (!header || header->data_bytes > kMostDataBytes || header->table_bytes > kMostDataBytes) return false;
  MemoryStore store;
  must(write_text(store, kFile, std::string(text_of(shard_file(input, *header)))).has_value(), "a file is written");
  const auto shard = Shard::open(store, kFile);
  if (!shard) return false;
  const bool fits = (input.unfit & ShardInput::kCrcs) == 0;
  const Status read = read_regions(*shard);
  must(read || !fits, "a shard whose blocks have their checksums is read");
  if (fits) check_whole(store, bytes);
  return read.has_value();
}

// The beginning of the header, and the parity.
bool run_parity_file(Bytes input) {
  const Bytes beginning = input.first(std::min<std::size_t>(input.size(), 64));
  auto header = decode_parity_header(block_of(beginning));
  if (!header) return false;
  const Bytes parity = input.subspan(beginning.size());
  header->chunk_bytes = parity.size();
  const test::SampleParity file = test::parity_file(*header, parity);
  MemoryStore store;
  must(write_text(store, kFile, std::string(text_of(file.bytes))).has_value(), "a file is written");
  must(verify_parity_file(store, kFile, *header, file.entry, {}).has_value(), "parity with its digest is verified");
  must(store.corrupt(kFile, damage_by(input, file.bytes.size()).offset).has_value(), "a file can be damaged");
  must(!verify_parity_file(store, kFile, *header, file.entry, {}), "damaged parity is not verified");
  return true;
}

Buffer sample_file(std::uint64_t rows) {
  MemoryStore store;
  const Rank rank{2};
  must(test::write_shard(store, kFile, test::sample_identity(rank), test::SampleRegions(rank, rows).all()).has_value(),
       "the sample is written");
  return test::read_all(store, kFile);
}

std::vector<Buffer> shard_header_seeds() { return {beginning_of(sample_file(3))}; }
std::vector<Buffer> parity_header_seeds() { return {beginning_of(encode(test::sample_parity_header()))}; }

std::vector<Buffer> region_table_seeds() {
  const Buffer file = sample_file(3);
  const ShardHeader header = decode_shard_header(Bytes(file).first(kShardHeaderBytes)).value();
  ByteWriter out;
  out.put(header.regions);
  out.put(header.data_bytes);
  out.put(Bytes(file).subspan(kShardHeaderBytes, header.table_bytes));
  return {out.take()};
}

// Of one block; and of two, with little in the second.
std::vector<Buffer> shard_seeds() {
  std::vector<Buffer> seeds;
  for (const std::uint64_t rows : {std::uint64_t{3}, kBlockBytes / 32}) {
    const Buffer file = sample_file(rows);
    const ShardHeader header = decode_shard_header(Bytes(file).first(kShardHeaderBytes)).value();
    ByteWriter out;
    out.put(std::uint8_t{0});
    out.put(Bytes(file).subspan(kFieldsAt, 64));
    out.put(static_cast<std::uint16_t>(header.table_bytes));
    out.put(Bytes(file).subspan(kShardHeaderBytes, header.table_bytes));
    out.put(Bytes(file).subspan(header.data_offset, std::min<std::uint64_t>(header.data_bytes, kKiB)));
    seeds.push_back(out.take());
  }
  return seeds;
}

std::vector<Buffer> parity_file_seeds() {
  Buffer seed = encode(test::sample_parity_header());
  seed.resize(64);
  const Buffer parity(96, std::byte{7});
  seed.insert(seed.end(), parity.begin(), parity.end());
  return {seed};
}

}  // namespace

std::vector<Target> container_targets() {
  return {{"shard_header", run_shard_header, shard_header_seeds},
          {"region_table", run_region_table, region_table_seeds},
          {"shard", run_shard, shard_seeds},
          {"parity_header", run_parity_header, parity_header_seeds},
          {"parity_file", run_parity_file, parity_file_seeds}};
}

}  // namespace cairn::fuzz
