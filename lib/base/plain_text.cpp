#include "base/plain_text.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <system_error>

#include <fmt/format.h>

namespace cairn {
namespace {

// The length of the UTF-8 character at the beginning of a text that is not empty; 0: there is none.
std::size_t character_length(std::string_view text) {
  const auto byte = [&](std::size_t at) { return static_cast<std::uint8_t>(text[at]); };
  if (byte(0) < 0x80) return 1;
  // Those that begin with 0xc0, 0xc1 and 0xf5 up would be longer than needed, or beyond Unicode.
  const std::size_t length = byte(0) < 0xc2 ? 0 : byte(0) < 0xe0 ? 2 : byte(0) < 0xf0 ? 3 : byte(0) < 0xf5 ? 4 : 0;
  if (length == 0 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xc0U) != 0x80) return 0;
  const bool too_long = (byte(0) == 0xe0 && byte(1) < 0xa0) || (byte(0) == 0xf0 && byte(1) < 0x90);
  const bool surrogate = byte(0) == 0xed && byte(1) >= 0xa0;
  const bool beyond = byte(0) == 0xf4 && byte(1) >= 0x90;
  return too_long || surrogate || beyond ? 0 : length;
}

bool is_control(std::string_view character) {
  const auto first = static_cast<std::uint8_t>(character[0]);
  if (character.size() == 2) return first == 0xc2 && static_cast<std::uint8_t>(character[1]) < 0xa0;
  return character.size() == 1 && (first < 0x20 || first == 0x7f);
}

template <class Fits>
bool all_characters(std::string_view text, const Fits& fit) {
  while (!text.empty()) {
    const std::size_t length = character_length(text);
    if (length == 0 || !fit(text.substr(0, length))) return false;
    text.remove_prefix(length);
  }
  return true;
}

constexpr std::string_view kEscape = "\\x";
constexpr std::size_t kEscapedDigits = 2;  // that follow it

// Without the characters that `fit`, which stay as they are.
template <class Fits>
std::string escape_all_but(std::string_view bytes, const Fits& fit) {
  if (bytes.find(kEscape) == std::string_view::npos && all_characters(bytes, fit)) return std::string(bytes);
  std::string text;
  while (!bytes.empty()) {
    const std::size_t length = character_length(bytes);
    const std::string_view character = bytes.substr(0, std::max<std::size_t>(length, 1));
    if (character == "\\") {
      text += "\\\\";
    } else if (length > 0 && fit(character)) {
      text += character;
    } else {
      for (const char byte : character) text += fmt::format("{}{:02x}", kEscape, static_cast<std::uint8_t>(byte));
    }
    bytes.remove_prefix(character.size());
  }
  return text;
}

// The byte of "\xe9" at the beginning of a text.
std::optional<char> escaped_byte(std::string_view text) {
  if (!text.starts_with(kEscape) || text.size() < kEscape.size() + kEscapedDigits) return {};
  const char* const digits = text.data() + kEscape.size();
  std::uint8_t byte = 0;
  const auto [end, error] = std::from_chars(digits, digits + kEscapedDigits, byte, 16);
  if (error != std::errc() || end != digits + kEscapedDigits) return {};
  return static_cast<char>(byte);
}

}  // namespace

std::string escaped(std::string_view bytes) {
  return escape_all_but(bytes, [](std::string_view) { return true; });
}

std::string escaped_for_terminal(std::string_view bytes) {
  return escape_all_but(bytes, [](std::string_view character) { return !is_control(character); });
}

std::string unescaped(std::string_view text) {
  if (text.find(kEscape) == std::string_view::npos) return std::string(text);
  std::string bytes;
  while (!text.empty()) {
    const auto byte = escaped_byte(text);
    const bool doubled = text.starts_with("\\\\");
    bytes += byte.value_or(text.front());
    text.remove_prefix(byte ? kEscape.size() + kEscapedDigits : doubled ? 2 : 1);
  }
  return bytes;
}

std::string plain_text(std::string_view text, std::size_t most_bytes) {
  std::string plain;
  while (!text.empty()) {
    const std::size_t length = character_length(text);
    const std::string_view character = text.substr(0, std::max<std::size_t>(length, 1));
    const std::string_view shown = length == 0 ? "?" : is_control(character) ? " " : character;
    if (plain.size() + shown.size() > most_bytes) break;
    plain += shown;
    text.remove_prefix(character.size());
  }
  return plain;
}

}  // namespace cairn
