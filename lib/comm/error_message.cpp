#include "comm/error_message.hpp"

namespace cairn {

Buffer encode_error(const Error& error) {
  ByteWriter writer;
  writer.put(static_cast<std::uint8_t>(error.code));
  writer.put_text(error.message);
  writer.put_text(error.hint);
  return writer.take();
}

Error decode_error(Bytes bytes) {
  ByteReader reader(bytes);
  Error error{};
  const auto code = reader.get<std::uint8_t>();
  error.message = reader.get_text();
  error.hint = reader.get_text();
  const bool known = code <= static_cast<std::uint8_t>(Code::failed_elsewhere);
  if (!reader.good() || !known) return Error{Code::failed_elsewhere, "failed, and sent an unreadable error", {}};
  error.code = static_cast<Code>(code);
  return error;
}

}  // namespace cairn
