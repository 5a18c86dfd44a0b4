// Views of raw bytes, and a checked little-endian writer and reader for headers and messages. A reader
// never reads past its end: it turns bad and stays bad, and the caller asks once at the end.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace cairn {

using Bytes = std::span<const std::byte>;
using MutableBytes = std::span<std::byte>;
using Buffer = std::vector<std::byte>;

inline constexpr std::uint64_t kKiB = 1024;
inline constexpr std::uint64_t kMiB = 1024 * kKiB;

[[nodiscard]] constexpr std::uint64_t round_up(std::uint64_t value, std::uint64_t step) {
  return (value + step - 1) / step * step;
}

[[nodiscard]] inline Bytes bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }
[[nodiscard]] inline std::string_view text_of(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// `to` has room. Faster than std::ranges::copy, with which GCC 12 takes bytes one by one.
inline void copy_bytes(Bytes from, MutableBytes to) {
  if (!from.empty()) std::memcpy(to.data(), from.data(), from.size());
}

static_assert(std::endian::native == std::endian::little,
              "Cairn stores native bytes and is built for little-endian machines");

class ByteWriter {
 public:
  ByteWriter() = default;
  // With room for so many bytes.
  explicit ByteWriter(std::size_t bytes) { out_.reserve(bytes); }
  template <class T>
  requires std::is_trivially_copyable_v<T> &&
      (std::integral<T> || std::is_enum_v<T> || std::floating_point<T>)void put(T value) {
    const std::size_t at = out_.size();
    out_.resize(at + sizeof(T));
    std::memcpy(out_.data() + at, &value, sizeof(T));
  }
  void put(Bytes bytes) { out_.insert(out_.end(), bytes.begin(), bytes.end()); }
  // A length (u32) and the characters.
  void put_text(std::string_view text) {
    put(static_cast<std::uint32_t>(text.size()));
    put(bytes_of(text));
  }
  // Zeros up to `size` bytes in all.
  void pad_to(std::size_t size) { out_.resize(size > out_.size() ? size : out_.size()); }
  [[nodiscard]] std::size_t size() const { return out_.size(); }
  [[nodiscard]] const Buffer& bytes() const { return out_; }
  [[nodiscard]] Buffer take() { return std::move(out_); }

 private:
  Buffer out_;
};

class ByteReader {
 public:
  explicit ByteReader(Bytes in) : in_(in) {}

  template <class T>
  requires std::is_trivially_copyable_v<T> &&(std::integral<T> || std::is_enum_v<T> || std::floating_point<T>)T get() {
    T value{};
    const Bytes from = get_bytes(sizeof(T));
    if (from.empty()) return value;
    if constexpr (std::is_same_v<T, bool>) {
      // Any other byte is no bool, and would be undefined behaviour as one.
      good_ = good_ && from.front() <= std::byte{1};
      return from.front() == std::byte{1};
    } else {
      std::memcpy(&value, from.data(), sizeof(T));
      return value;
    }
  }
  // A view of the next `count` bytes; empty, and the reader bad, when there are fewer.
  Bytes get_bytes(std::size_t count) {
    if (count > in_.size() - at_) {
      good_ = false;
      at_ = in_.size();
      return {};
    }
    at_ += count;
    return in_.subspan(at_ - count, count);
  }
  std::string get_text() {
    const auto length = get<std::uint32_t>();
    return std::string(text_of(get_bytes(length)));
  }
  [[nodiscard]] bool good() const { return good_; }
  [[nodiscard]] std::size_t remaining() const { return in_.size() - at_; }

 private:
  Bytes in_;
  std::size_t at_ = 0;
  bool good_ = true;
};

}  // namespace cairn
