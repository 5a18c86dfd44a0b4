#include "format/parity_file.hpp"

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

}  // namespace cairn
