// Lists as text for a person: only the first few items are named. Pure.
#pragma once

#include <algorithm>
#include <cstddef>
#include <ranges>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace cairn {

// "3, 4, 5 and 12 more"
template <std::ranges::random_access_range Items>
[[nodiscard]] std::string first_few(const Items& items, std::size_t shown) {
  const std::size_t count = std::min<std::size_t>(std::ranges::size(items), shown);
  const auto begin = std::ranges::begin(items);
  const auto end = begin + static_cast<std::ranges::range_difference_t<const Items>>(count);
  std::string text = fmt::format("{}", fmt::join(begin, end, ", "));
  if (std::ranges::size(items) > count) text += fmt::format(" and {} more", std::ranges::size(items) - count);
  return text;
}

// "rank 3", "ranks 3, 4, 5 and 12 more"
template <std::ranges::random_access_range Items>
[[nodiscard]] std::string ranks_text(const Items& ranks) {
  constexpr std::size_t kShown = 16;
  return fmt::format("{} {}", std::ranges::size(ranks) == 1 ? "rank" : "ranks", first_few(ranks, kShown));
}

}  // namespace cairn
