#include "comm/error_message.hpp"

#include <utility>

namespace cairn {

Buffer encode_error(const Error& error) {
  ByteWriter writer;
  writer.put(static_cast<std::uint8_t>(error.code));
  writer.put_text(error.message);
  writer.put_text(error.hint);
  writer.put_text(error.file);
  return writer.take();
}

Error decode_error(Bytes bytes) {
  ByteReader reader(bytes);
  const auto code = code_of(reader.get<std::uint8_t>());
  std::string message = reader.get_text();
  std::string hint = reader.get_text();
  std::string file = reader.get_text();
  if (!reader.good() || !code)
    return fail_internal(Code::failed_elsewhere, "failed, and its error message is damaged").value();
  return Error{*code, std::move(message), std::move(hint), std::move(file)};
}

}  // namespace cairn
