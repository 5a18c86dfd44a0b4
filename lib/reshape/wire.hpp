// Values as letters, and back. A damaged letter becomes nothing. Pure.
#pragma once

#include <optional>

#include "base/fields.hpp"

namespace cairn::reshape {

template <class T>
[[nodiscard]] Buffer to_bytes(T& value) {
  PutFields put;
  put(value);
  return put.take();
}

template <class T>
[[nodiscard]] std::optional<T> from_bytes(Bytes bytes) {
  GetFields get(bytes);
  T value{};
  get(value);
  if (!get.whole()) return std::nullopt;
  return value;
}

}  // namespace cairn::reshape
