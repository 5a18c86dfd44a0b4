// Where errors as values become the one exception that the C++ API throws.
#pragma once

#include <type_traits>
#include <utility>

#include <cairn/error.hpp>

#include "base/error.hpp"

namespace cairn {

[[nodiscard]] ErrorKind kind_of(Code code);

// The value, or an Exception with the error's text.
template <class T>
T value_or_throw(Result<T> result) {
  if (!result) throw Exception(kind_of(result.error().code), result.error().text());
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

}  // namespace cairn
