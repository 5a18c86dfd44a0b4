// Reads the values of configuration keys. Each function answers with a mistake in words ("not a time; write 90s
// …"), or with nothing and the value stored. Pure.
#pragma once

#include <array>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/config.hpp"

namespace cairn::values {

using Mistake = std::string;  // empty: none

// A whole number from `least` to `most`.
[[nodiscard]] Mistake number(std::string_view text, std::uint32_t least, std::uint32_t most, std::uint32_t& out);
// 64KiB, 256MiB or 1GiB, from `least` to `most` bytes.
[[nodiscard]] Mistake bytes(std::string_view text, std::uint64_t least, std::uint64_t most, std::uint64_t& out);
// 500ms, 90s, 10min, 12h or 3d.
[[nodiscard]] Mistake duration(std::string_view text, std::chrono::milliseconds& out);
// every N, a duration, auto or off.
[[nodiscard]] Mistake interval(std::string_view text, Interval& out);
// on or off.
[[nodiscard]] Mistake on_off(std::string_view text, bool& out);
// One plain component of a path.
[[nodiscard]] Mistake job_name(std::string_view text, std::string& out);
// Anything but nothing.
[[nodiscard]] Mistake path(std::string_view text, std::string& out);
// auto, which is 0, or a number.
[[nodiscard]] Mistake threads(std::string_view text, std::uint32_t& out);
// 0, which is an empty list; a number; or a list, with or without parentheses.
[[nodiscard]] Mistake node_sizes(std::string_view text, std::vector<std::uint32_t>& out);
// One duration a level.
[[nodiscard]] Mistake durations(std::string_view text, std::vector<std::chrono::milliseconds>& out);
[[nodiscard]] Mistake log_level(std::string_view text, LogLevel& out);

// One of a few words.
template <class T, std::size_t N>
[[nodiscard]] Mistake word(std::string_view text, const std::pair<std::string_view, T> (&words)[N], T& out) {
  Mistake mistake = "not one of its values; write ";
  for (std::size_t i = 0; i < N; ++i) {
    if (text == words[i].first) {
      out = words[i].second;
      return {};
    }
    mistake.append(i == 0 ? "" : i + 1 == N ? " or " : ", ").append(words[i].first);
  }
  return mistake;
}

}  // namespace cairn::values
