// The types of elements that a region can have.
#pragma once

#include <type_traits>

namespace cairn {

// The type of a region's elements. A type that is not in this list is opaque: it is stored as bytes, with its name.
enum class Element { opaque, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float32, float64 };

namespace detail {

template <class T>
constexpr Element element_of() {
  if constexpr (std::is_same_v<T, float>)
    return Element::float32;
  else if constexpr (std::is_same_v<T, double>)
    return Element::float64;
  else if constexpr (std::is_same_v<T, bool> || std::is_enum_v<T> || !std::is_integral_v<T>)
    return Element::opaque;
  else if constexpr (std::is_signed_v<T>)
    return sizeof(T) == 1   ? Element::int8
           : sizeof(T) == 2 ? Element::int16
           : sizeof(T) == 4 ? Element::int32
                            : Element::int64;
  else
    return sizeof(T) == 1   ? Element::uint8
           : sizeof(T) == 2 ? Element::uint16
           : sizeof(T) == 4 ? Element::uint32
                            : Element::uint64;
}

}  // namespace detail
}  // namespace cairn
