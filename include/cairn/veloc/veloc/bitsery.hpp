// Serializers of Bitsery for veloc::client_t::mem_protect.
#ifndef CAIRN_VELOC_BITSERY_HPP
#define CAIRN_VELOC_BITSERY_HPP

#include <cstdint>
#include <functional>
#include <istream>
#include <ostream>

#include <bitsery/adapter/stream.h>
#include <bitsery/bitsery.h>

namespace veloc {
namespace bitsery {

// `data` must be valid as long as it is protected.
template <class T>
std::function<void(std::ostream&)> serializer(T& data) {
  return [&data](std::ostream& out) {
    ::bitsery::Serializer<::bitsery::OutputBufferedStreamAdapter> archive{out};
    archive.object(data);
    archive.adapter().flush();
  };
}
template <class T>
std::function<bool(std::istream&)> deserializer(T& data) {
  return [&data](std::istream& in) {
    const auto read = ::bitsery::quickDeserialization<::bitsery::InputStreamAdapter>(in, data);
    return read.first == ::bitsery::ReaderError::NoError;
  };
}

}  // namespace bitsery
}  // namespace veloc

#endif
