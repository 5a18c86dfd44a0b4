// Values as bytes, and back. A struct or an enum is described once, by a function `fields(io, value)` in its namespace:
// it hands its members to `io` in order. PutFields writes them; GetFields reads them in the same order, and checks.
//
//   void fields(auto& io, Waits& m) { io(m.call), io(m.seconds), io(m.asked); }
#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "base/bytes.hpp"
#include "base/ids.hpp"

namespace cairn {

template <class T>
concept PlainNumber = std::integral<T> || std::floating_point<T>;

class PutFields {
 public:
  template <class T>
  void operator()(T& value) {
    if constexpr (PlainNumber<T>) {
      out_.put(value);
    } else {
      fields(*this, value);
    }
  }
  template <class Tag, class Number>
  void operator()(Id<Tag, Number>& id) {
    out_.put(id.value);
  }
  void operator()(std::chrono::microseconds& time) { out_.put(std::int64_t{time.count()}); }
  void operator()(std::string& text) { out_.put_text(text); }
  void operator()(Buffer& bytes) { out_.put_text(text_of(bytes)); }
  template <class T>
  void operator()(std::vector<T>& list) {
    out_.put(static_cast<std::uint32_t>(list.size()));
    for (T& item : list) (*this)(item);
  }
  template <class T>
  void operator()(std::optional<T>& value) {
    out_.put(static_cast<std::uint8_t>(value.has_value()));
    if (value) (*this)(*value);
  }
  template <class... T>
  void operator()(std::variant<T...>& value) {
    out_.put(static_cast<std::uint8_t>(value.index()));
    std::visit([this](auto& one) { (*this)(one); }, value);
  }
  // What is written is right.
  void check(bool /*possible*/) {}
  [[nodiscard]] Buffer take() { return out_.take(); }

 private:
  ByteWriter out_;
};

class GetFields {
 public:
  explicit GetFields(Bytes bytes) : in_(bytes) {}

  template <class T>
  void operator()(T& value) {
    if constexpr (PlainNumber<T>) {
      value = in_.get<T>();
    } else {
      fields(*this, value);
    }
  }
  template <class Tag, class Number>
  void operator()(Id<Tag, Number>& id) {
    id.value = in_.get<Number>();
  }
  void operator()(std::chrono::microseconds& time) { time = std::chrono::microseconds(in_.get<std::int64_t>()); }
  void operator()(std::string& text) { text = in_.get_text(); }
  void operator()(Buffer& bytes) {
    const Bytes read = in_.get_bytes(in_.get<std::uint32_t>());
    bytes.assign(read.begin(), read.end());
  }
  template <class T>
  void operator()(std::vector<T>& list) {
    const auto count = in_.get<std::uint32_t>();
    for (std::uint32_t i = 0; i < count && in_.good(); ++i) (*this)(list.emplace_back());
  }
  template <class T>
  void operator()(std::optional<T>& value) {
    if (in_.get<std::uint8_t>() != 0) (*this)(value.emplace());
  }
  template <class... T>
  void operator()(std::variant<T...>& value) {
    const auto index = in_.get<std::uint8_t>();
    check(index < sizeof...(T));
    get_alternative(value, index, std::index_sequence_for<T...>());
  }
  // False: the bytes are not what was written.
  void check(bool possible) { possible_ = possible_ && possible; }
  // Nothing is missing, nothing is left over, and every value is a possible one.
  [[nodiscard]] bool whole() const { return in_.good() && in_.remaining() == 0 && possible_; }

 private:
  template <class Variant, std::size_t... I>
  void get_alternative(Variant& value, std::size_t index, std::index_sequence<I...> /*all*/) {
    ((index == I ? (*this)(value.template emplace<I>()) : void()), ...);
  }

  ByteReader in_;
  bool possible_ = true;
};

// Of an enum whose values are 0 to `last`.
template <class Enum>
void enum_fields(auto& io, Enum& value, Enum last) {
  auto number = static_cast<std::underlying_type_t<Enum>>(value);
  io(number);
  const bool possible = number <= static_cast<std::underlying_type_t<Enum>>(last);
  io.check(possible);
  value = possible ? static_cast<Enum>(number) : Enum{};
}

}  // namespace cairn
