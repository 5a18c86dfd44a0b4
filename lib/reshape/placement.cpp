#include "reshape/placement.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace cairn::reshape {
namespace {

std::uint64_t at(const std::vector<std::uint64_t>& widths, std::size_t dimension) {
  return widths.empty() ? 0 : widths[dimension];
}

// The part of the box that is in an array of that shape; empty if there is none.
Box clipped(const Box& box, const std::vector<std::uint64_t>& shape) {
  if (auto common = intersection(box, whole(shape))) return *std::move(common);
  Box none = box;
  std::ranges::fill(none.first, 0);
  std::ranges::fill(none.extent, 0);
  return none;
}

// What the block owns of the memory. Requires: the ghosts fit into it.
RegionInfo without_ghosts(RegionInfo info, const Block& block) {
  for (std::size_t d = 0; d < info.shape.size(); ++d)
    info.shape[d] -= at(block.ghosts_before, d) + at(block.ghosts_after, d);
  info.global_shape = block.shape;
  info.global_offset = block.offset;
  info.ghosts_before.clear();
  info.ghosts_after.clear();
  return info;
}

}  // namespace

std::string trouble_with(const RegionInfo& info, const Block& block) {
  const std::size_t dimensions = info.shape.size();
  if (dimensions == 0) return "a single value is no block of an array";
  if (block.shape.size() != dimensions || block.offset.size() != dimensions)
    return fmt::format("the place has {} dimensions, the region {}", block.shape.size(), dimensions);
  for (const auto* widths : {&block.ghosts_before, &block.ghosts_after, &block.stored_ghosts}) {
    if (!widths->empty() && widths->size() != dimensions)
      return fmt::format("the ghosts have {} dimensions, the region {}", widths->size(), dimensions);
    if (std::ranges::any_of(*widths, [](std::uint64_t width) { return width > kLargestIndex / 4; }))
      return "a layer of ghosts is too wide";
  }
  for (std::size_t d = 0; d < dimensions; ++d) {
    if (at(block.ghosts_before, d) + at(block.ghosts_after, d) > info.shape[d])
      return fmt::format("dimension {}: {} elements have no room for {} + {} ghosts", d, info.shape[d],
                         at(block.ghosts_before, d), at(block.ghosts_after, d));
  }
  const auto possible = check(without_ghosts(info, block));
  return possible ? std::string{} : possible.error().message;
}

Placement wanted_placement(const RegionInfo& info, const Block& block) {
  Placement placement;
  placement.owned = whole(without_ghosts(info, block).shape);
  Box& memory = placement.memory.box = whole(info.shape);
  for (std::size_t d = 0; d < info.shape.size(); ++d) {
    placement.owned.first[d] = static_cast<std::int64_t>(block.offset[d]);
    memory.first[d] = placement.owned.first[d] - static_cast<std::int64_t>(at(block.ghosts_before, d));
  }
  placement.memory.element_bytes = info.element_bytes;
  placement.filled = clipped(memory, block.shape);
  return placement;
}

std::optional<Placement> stored_placement(const RegionInfo& info, const std::vector<std::uint64_t>& shape,
                                          const std::vector<std::uint64_t>& ghosts) {
  if (info.global_shape != shape || info.global_offset.size() != shape.size() || info.shape.size() != shape.size())
    return std::nullopt;
  Placement placement;
  Box& memory = placement.memory.box = whole(info.shape);
  for (std::size_t d = 0; d < shape.size(); ++d) memory.first[d] = static_cast<std::int64_t>(info.global_offset[d]);
  placement.memory.element_bytes = info.element_bytes;
  if (info.has_ghosts()) {
    Box owned = memory;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      owned.extent[d] = info.own_length(d);
      memory.first[d] -= static_cast<std::int64_t>(info.ghosts_before[d]);
    }
    if (!is_sane(memory) || !is_sane(owned)) return std::nullopt;
    placement.owned = placement.filled = clipped(owned, shape);
    return placement;
  }
  if (!is_sane(memory)) return std::nullopt;
  Box owned = memory;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const std::uint64_t before = owned.first[d] == 0 ? 0 : at(ghosts, d);
    const std::uint64_t after = owned.end(d) == static_cast<std::int64_t>(shape[d]) ? 0 : at(ghosts, d);
    owned.first[d] += static_cast<std::int64_t>(std::min(owned.extent[d], before));
    owned.extent[d] -= std::min(owned.extent[d], before + after);
  }
  placement.owned = placement.filled = clipped(owned, shape);
  return placement;
}

}  // namespace cairn::reshape
