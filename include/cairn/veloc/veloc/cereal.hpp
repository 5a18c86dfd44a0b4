// Serializers of cereal for veloc::client_t::mem_protect.
#ifndef CAIRN_VELOC_CEREAL_HPP
#define CAIRN_VELOC_CEREAL_HPP

#include <exception>
#include <functional>
#include <istream>
#include <ostream>

#include <cereal/archives/binary.hpp>

namespace veloc {
namespace cereal {

// `data` must be valid as long as it is protected.
template <class T>
std::function<void(std::ostream&)> serializer(T& data) {
  return [&data](std::ostream& out) { ::cereal::BinaryOutputArchive(out)(data); };
}
template <class T>
std::function<bool(std::istream&)> deserializer(T& data) {
  return [&data](std::istream& in) {
    try {
      ::cereal::BinaryInputArchive(in)(data);
      return true;
    } catch (const std::exception&) {
      return false;
    }
  };
}

}  // namespace cereal
}  // namespace veloc

#endif
