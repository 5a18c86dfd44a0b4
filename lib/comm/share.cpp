#include "comm/share.hpp"

#include <fmt/format.h>

#include "comm/error_message.hpp"

namespace cairn {

Result<Buffer> share(Comm& comm, const Result<Buffer>& mine, Peer root, std::string_view member) {
  ByteWriter writer;
  if (comm.rank() == root) {
    writer.put(mine.has_value());
    writer.put(mine ? Bytes(*mine) : Bytes(encode_error(mine.error())));
  }
  const auto shared = comm.broadcast(writer.bytes(), root);
  if (comm.rank() == root && !mine) return mine;
  if (!shared) return shared;
  ByteReader reader(*shared);
  const bool good = reader.get<bool>();
  const Bytes rest = reader.get_bytes(reader.remaining());
  if (good) return Buffer(rest.begin(), rest.end());
  return fail(decode_error(rest).in(fmt::format("{} {}", member, root.value)));
}

}  // namespace cairn
