#include "format/joined_regions.hpp"

#include <algorithm>
#include <numeric>

namespace cairn {
namespace {

std::vector<std::uint64_t> shape_in_array(const RegionInfo& region) {
  return region.shape.empty() ? std::vector<std::uint64_t>{1} : region.shape;
}

bool have_one_type(const RegionInfo& a, const RegionInfo& b) {
  return a.type == b.type && a.element_bytes == b.element_bytes && a.type_name == b.type_name;
}

bool lies_in(const RegionInfo& region, const std::vector<std::uint64_t>& array) {
  if (region.global_shape != array || region.shape.size() != array.size()) return false;
  for (std::size_t d = 0; d < array.size(); ++d)
    if (region.global_offset[d] > array[d] || region.shape[d] > array[d] - region.global_offset[d]) return false;
  return true;
}

bool differ_in_length_only(const RegionInfo& a, const RegionInfo& b) {
  const auto first = shape_in_array(a);
  const auto second = shape_in_array(b);
  return a.shape.size() == b.shape.size() && std::equal(first.begin() + 1, first.end(), second.begin() + 1);
}

}  // namespace

std::optional<JoinedRegions> join(std::span<const RegionInfo* const> regions) {
  const RegionInfo& first = *regions.front();
  const bool in_one_array = !first.global_shape.empty() && std::ranges::all_of(regions, [&](const RegionInfo* region) {
    return have_one_type(first, *region) && lies_in(*region, first.global_shape);
  });
  if (!in_one_array) return join_in_order(regions);
  JoinedRegions joined{first.global_shape, {}, true};
  for (const RegionInfo* region : regions) joined.starts.push_back(region->global_offset);
  return joined;
}

std::optional<JoinedRegions> join_in_order(std::span<const RegionInfo* const> regions) {
  const RegionInfo& first = *regions.front();
  const auto fits = [&](const RegionInfo* region) {
    return have_one_type(first, *region) && differ_in_length_only(first, *region);
  };
  if (!std::ranges::all_of(regions, fits)) return {};
  JoinedRegions joined{shape_in_array(first), {}, false};
  joined.shape.front() = 0;
  for (const RegionInfo* region : regions) {
    auto& start = joined.starts.emplace_back(joined.shape.size(), 0);
    start.front() = joined.shape.front();
    joined.shape.front() += shape_in_array(*region).front();
  }
  return joined;
}

// Sweeps along dimension 0: only regions that are there at the same time are compared.
bool have_common_elements(std::span<const RegionInfo* const> regions, const JoinedRegions& joined) {
  const auto begin = [&](std::size_t i, std::size_t d) { return joined.starts[i][d]; };
  const auto end = [&](std::size_t i, std::size_t d) { return begin(i, d) + shape_in_array(*regions[i])[d]; };
  std::vector<std::size_t> order(regions.size());
  std::iota(order.begin(), order.end(), 0);
  std::erase_if(order, [&](std::size_t i) { return regions[i]->elements() == 0; });
  std::ranges::sort(order, {}, [&](std::size_t i) { return begin(i, 0); });
  std::vector<std::size_t> open;
  for (const std::size_t i : order) {
    std::erase_if(open, [&](std::size_t other) { return end(other, 0) <= begin(i, 0); });
    for (const std::size_t other : open) {
      bool common = true;
      for (std::size_t d = 0; d < joined.shape.size(); ++d)
        common = common && begin(i, d) < end(other, d) && begin(other, d) < end(i, d);
      if (common) return true;
    }
    open.push_back(i);
  }
  return false;
}

}  // namespace cairn
