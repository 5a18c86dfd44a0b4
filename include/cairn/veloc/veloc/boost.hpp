// Serializers of Boost for veloc::client_t::mem_protect.
#ifndef CAIRN_VELOC_BOOST_HPP
#define CAIRN_VELOC_BOOST_HPP

#include <exception>
#include <functional>
#include <istream>
#include <ostream>

#include <boost/archive/binary_iarchive.hpp>
#include <boost/archive/binary_oarchive.hpp>

namespace veloc {
namespace boost {

// `data` must be valid as long as it is protected.
template <class T>
std::function<void(std::ostream&)> serializer(T& data) {
  return [&data](std::ostream& out) {
    ::boost::archive::binary_oarchive archive(out);
    archive << data;
  };
}
template <class T>
std::function<bool(std::istream&)> deserializer(T& data) {
  return [&data](std::istream& in) {
    try {
      ::boost::archive::binary_iarchive archive(in);
      archive >> data;
      return true;
    } catch (const std::exception&) {
      return false;
    }
  };
}

}  // namespace boost
}  // namespace veloc

#endif
