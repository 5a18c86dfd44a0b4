#include "format/joined_regions.hpp"

#include <algorithm>

namespace cairn {
namespace {

std::vector<std::uint64_t> shape_in_array(const RegionInfo& region) {
  return region.shape.empty() ? std::vector<std::uint64_t>{1} : region.shape;
}

bool lies_in(const RegionInfo& region, const std::vector<std::uint64_t>& array) {
  if (region.global_shape != array || region.shape.size() != array.size()) return false;
  for (std::size_t d = 0; d < array.size(); ++d)
    if (region.global_offset[d] > array[d] || region.own_length(d) > array[d] - region.global_offset[d]) return false;
  return true;
}

// Of a region that lies in an array.
JoinedRegions::Part part_by_place(const RegionInfo& region) {
  const std::size_t dimensions = region.shape.size();
  JoinedRegions::Part part{region.global_offset, {}, std::vector<std::uint64_t>(dimensions, 0)};
  for (std::size_t d = 0; d < dimensions; ++d) part.extent.push_back(region.own_length(d));
  if (region.has_ghosts()) part.inner = region.ghosts_before;
  return part;
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
    return same_type(first, *region) && lies_in(*region, first.global_shape);
  });
  if (!in_one_array) return join_in_order(regions);
  JoinedRegions joined{first.global_shape, {}, true};
  for (const RegionInfo* region : regions) joined.parts.push_back(part_by_place(*region));
  return joined;
}

std::optional<JoinedRegions> join_in_order(std::span<const RegionInfo* const> regions) {
  const RegionInfo& first = *regions.front();
  const auto fits = [&](const RegionInfo* region) {
    return same_type(first, *region) && differ_in_length_only(first, *region);
  };
  if (!std::ranges::all_of(regions, fits)) return {};
  JoinedRegions joined{shape_in_array(first), {}, false};
  joined.shape.front() = 0;
  for (const RegionInfo* region : regions) {
    const std::vector<std::uint64_t> zeros(joined.shape.size(), 0);
    auto& part = joined.parts.emplace_back(JoinedRegions::Part{zeros, shape_in_array(*region), zeros});
    part.start.front() = joined.shape.front();
    joined.shape.front() += part.extent.front();
  }
  return joined;
}

// Sweeps along dimension 0: only regions that are there at the same time are compared.
bool have_common_elements(const JoinedRegions& joined) {
  using Part = JoinedRegions::Part;
  const auto end = [](const Part& part, std::size_t d) { return part.start[d] + part.extent[d]; };
  std::vector<const Part*> order;
  for (const Part& part : joined.parts)
    if (std::ranges::find(part.extent, 0U) == part.extent.end()) order.push_back(&part);
  std::ranges::sort(order, {}, [](const Part* part) { return part->start.front(); });
  std::vector<const Part*> open;
  for (const Part* part : order) {
    std::erase_if(open, [&](const Part* other) { return end(*other, 0) <= part->start.front(); });
    for (const Part* other : open) {
      bool common = true;
      for (std::size_t d = 0; d < joined.shape.size(); ++d)
        common = common && part->start[d] < end(*other, d) && other->start[d] < end(*part, d);
      if (common) return true;
    }
    open.push_back(part);
  }
  return false;
}

}  // namespace cairn
