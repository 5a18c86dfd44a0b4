// How the regions of one name, each a rank's, make up one array. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "format/region.hpp"

namespace cairn {

struct JoinedRegions {
  // What a region has of the array: its own elements, without ghosts.
  struct Part {
    std::vector<std::uint64_t> start;   // in the array
    std::vector<std::uint64_t> extent;  // as long, as is the next
    std::vector<std::uint64_t> inner;   // where its first own element lies in the region
  };
  std::vector<std::uint64_t> shape;
  std::vector<Part> parts;  // of each region
  bool placed = false;      // by places in a global array; else end to end along dimension 0
};

// By their places, if all regions have one in the same array; else as join_in_order(). None: they cannot be joined.
// Requires: at least one region.
[[nodiscard]] std::optional<JoinedRegions> join(std::span<const RegionInfo* const> regions);
// In their order, if they differ in the length of dimension 0 at most. A scalar is one element.
[[nodiscard]] std::optional<JoinedRegions> join_in_order(std::span<const RegionInfo* const> regions);

// Whether some element of the array belongs to two of the regions. For blocks of a grid in d dimensions it takes time
// in proportion to n^(2 - 1/d) for n regions.
[[nodiscard]] bool have_common_elements(const JoinedRegions& joined);

}  // namespace cairn
