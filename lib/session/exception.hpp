// Turns errors as values into the one exception type that the C++ API throws.
#pragma once

#include <type_traits>
#include <utility>

#include <cairn/error.hpp>

#include "base/error.hpp"

namespace cairn {

[[nodiscard]] ErrorKind kind_of(Code code);

// What the façade throws: an Exception that still has the error.
class ErrorException final : public Exception {
 public:
  explicit ErrorException(Error error) : Exception(kind_of(error.code), error.text()), error_(std::move(error)) {}
  [[nodiscard]] const Error& error() const { return error_; }

 private:
  Error error_;
};

// The value, or an ErrorException.
template <class T>
T value_or_throw(Result<T> result) {
  if (!result) throw ErrorException(std::move(result.error()));
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

// The value, or an Exception. Where the job repairs itself, the loss of a peer becomes a rollback.
template <class T>
T answer(bool repairs_itself, Result<T> result) {
  if (!result && result.error().code == Code::communication && repairs_itself)
    throw Exception(ErrorKind::rollback, result.error().text());
  return value_or_throw(std::move(result));
}

}  // namespace cairn
