// Whether one name was probably meant by another. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace cairn {

// A name that was probably meant is at most so many edits away.
inline constexpr std::size_t kFewEdits = 2;

// How many edits lie between the names; none: too many for one to be meant by the other.
[[nodiscard]] std::optional<std::size_t> near_distance(std::string_view a, std::string_view b);

}  // namespace cairn
