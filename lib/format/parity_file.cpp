#include "format/parity_file.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "codec/crc32c.hpp"
#include "format/header_block.hpp"
#include "format/shard_codec.hpp"

namespace cairn {
namespace {

constexpr std::uint32_t kWithoutCrcs = 1;  // formats
constexpr std::uint32_t kWithCrcs = 2;
constexpr HeaderKind kParityKind{"CAIRNPAR", "parity file", kWithCrcs};
static_assert(kParityHeaderBytes == kHeaderBlockBytes);
constexpr std::uint64_t kMostChunkBytes = 1ULL << 60U;  // keeps every sum of lengths far from overflow

Status check_digest(const Sha256& is, const ParityEntry& entry) {
  if (is == entry.digest) return {};
  return fail(Code::corrupt,
              fmt::format("SHA-256 is {}, should be {} as in the manifest", is.hex(), entry.digest.hex()));
}

// Hands the file's bytes from `begin` to `end` to `take`, a MiB at a time.
Status walk(const Reader& file, std::uint64_t begin, std::uint64_t end, const std::function<void()>& between,
            const std::function<Status(Bytes)>& take) {
  Buffer buffer(kMiB);
  for (std::uint64_t at = begin; at < end; at += buffer.size()) {
    const MutableBytes slice = MutableBytes(buffer).first(std::min<std::uint64_t>(buffer.size(), end - at));
    if (auto read = file.read(at, slice); !read) return read;
    if (auto taken = take(slice); !taken) return taken;
    if (between) between();
  }
  return {};
}

Status check_whole(const Reader& file, const ParityEntry& entry, const std::function<void()>& between) {
  Sha256Stream digest;
  auto read = walk(file, 0, entry.bytes, between, [&](Bytes slice) {
    digest.update(slice);
    return Status{};
  });
  return read ? check_digest(digest.finish(), entry) : read;
}

Status check_blocks(const Reader& file, const ParityHeader& header, Bytes first, const ParityEntry& entry,
                    const std::function<void()>& between) {
  Buffer crcs(header.crc_bytes());
  if (auto read = file.read(header.crc_offset(), crcs); !read) return read;
  if (auto good = check_digest(frame_digest(first, crcs), entry); !good) return good;
  ByteReader table(crcs);
  std::uint64_t block = 0;
  return walk(file, kParityHeaderBytes, header.crc_offset(), between, [&](Bytes slice) -> Status {
    const auto should = table.get<std::uint32_t>();
    if (const std::uint32_t is = crc32c(slice); is != should) {
      return fail(wrong_crc(header.blocks(), block, is, should));
    }
    ++block;
    return {};
  });
}

}  // namespace

Sha256 frame_digest(Bytes header, Bytes crcs) {
  Sha256Stream digest;
  digest.update(header);
  digest.update(crcs);
  return digest.finish();
}

Buffer encode(const ParityHeader& header) {
  ByteWriter out = begin_header(kParityKind, header.digest == BlockDigest::crc32c ? kWithCrcs : kWithoutCrcs);
  out.put(header.identity.incarnation.value);
  out.put(header.identity.version.value);
  out.put(header.identity.run.value);
  out.put(header.layout.value);
  out.put(header.column);
  out.put(header.row);
  out.put(std::uint32_t{0});
  out.put(header.chunk_bytes);
  return seal_header(std::move(out));
}

Result<ParityHeader> decode_parity_header(Bytes bytes) {
  auto opened = open_header(bytes, kParityKind);
  if (!opened) return fail(opened.error());
  ByteReader& reader = opened->fields;
  ParityHeader header;
  header.identity.incarnation = {reader.get<std::uint32_t>()};
  header.identity.version = {reader.get<std::uint32_t>()};
  header.identity.run = {reader.get<std::uint64_t>()};
  header.layout = {reader.get<std::uint32_t>()};
  header.column = reader.get<std::uint32_t>();
  header.row = reader.get<std::uint32_t>();
  reader.get<std::uint32_t>();
  header.chunk_bytes = reader.get<std::uint64_t>();
  header.digest = opened->format == kWithCrcs ? BlockDigest::crc32c : BlockDigest::sha256;
  if (header.chunk_bytes > kMostChunkBytes)
    return fail(Code::corrupt,
                fmt::format("parity file header: {} bytes of parity are impossible", header.chunk_bytes));
  return header;
}

Status verify_parity_file(const Store& store, const FileName& name, const ParityHeader& expected,
                          const ParityEntry& entry, const std::function<void()>& between) {
  auto file = store.open(name);
  if (!file) return fail(file.error());
  if ((*file)->size_bytes() != entry.bytes) {
    return fail(Code::corrupt, fmt::format("it is {} bytes long, should be {}", (*file)->size_bytes(), entry.bytes));
  }
  Buffer first(kParityHeaderBytes);
  if (auto read = (*file)->read(0, first); !read) return read;
  const auto header = decode_parity_header(first);
  if (!header) return fail(header.error());
  ParityHeader wanted = expected;
  wanted.digest = header->digest;  // either will do
  if (*header != wanted) {
    return fail(Code::corrupt,
                fmt::format("it is row {} of column {} of version {}, should be row {} of column {} of version {}",
                            header->row, header->column, header->identity.version.value, expected.row, expected.column,
                            expected.identity.version.value));
  }
  if (header->file_bytes() != entry.bytes) {
    return fail(Code::corrupt, fmt::format("it is {} bytes long, should be {}", entry.bytes, header->file_bytes()));
  }
  if (header->digest == BlockDigest::sha256) return check_whole(**file, entry, between);
  return check_blocks(**file, *header, first, entry, between);
}

}  // namespace cairn
