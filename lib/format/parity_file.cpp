#include "format/parity_file.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "format/header_block.hpp"

namespace cairn {
namespace {

constexpr HeaderKind kParityKind{"CAIRNPAR", "parity file", 1};
static_assert(kParityHeaderBytes == kHeaderBlockBytes);

}  // namespace

Buffer encode(const ParityHeader& header) {
  ByteWriter out = begin_header(kParityKind);
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
  auto reader = open_header(bytes, kParityKind);
  if (!reader) return fail(reader.error());
  ParityHeader header;
  header.identity.incarnation = {reader->get<std::uint32_t>()};
  header.identity.version = {reader->get<std::uint32_t>()};
  header.identity.run = {reader->get<std::uint64_t>()};
  header.layout = {reader->get<std::uint32_t>()};
  header.column = reader->get<std::uint32_t>();
  header.row = reader->get<std::uint32_t>();
  reader->get<std::uint32_t>();
  header.chunk_bytes = reader->get<std::uint64_t>();
  return header;
}

Status verify_parity_file(const Store& store, const FileName& name, const ParityHeader& expected,
                          const ParityEntry& entry, const std::function<void()>& between) {
  auto file = store.open(name);
  if (!file) return fail(file.error());
  if ((*file)->size_bytes() != entry.bytes) {
    return fail(Code::corrupt, fmt::format("{} bytes long, should be {}", (*file)->size_bytes(), entry.bytes));
  }
  Buffer buffer(kMiB);
  Sha256Stream digest;
  for (std::uint64_t at = 0; at < entry.bytes; at += buffer.size()) {
    const MutableBytes slice = MutableBytes(buffer).first(std::min<std::uint64_t>(buffer.size(), entry.bytes - at));
    if (auto read = (*file)->read(at, slice); !read) return read;
    digest.update(slice);
    if (between) between();
  }
  Buffer first(kParityHeaderBytes);
  if (auto read = (*file)->read(0, first); !read) return read;
  const auto header = decode_parity_header(first);
  if (!header) return fail(header.error());
  if (*header != expected) {
    return fail(Code::corrupt,
                fmt::format("it is row {} of column {} of version {}, should be row {} of column {} of version {}",
                            header->row, header->column, header->identity.version.value, expected.row, expected.column,
                            expected.identity.version.value));
  }
  if (const Sha256 is = digest.finish(); is != entry.digest) {
    return fail(Code::corrupt, fmt::format("SHA-256 is {}, the manifest says {}", is.hex(), entry.digest.hex()));
  }
  return {};
}

}  // namespace cairn
