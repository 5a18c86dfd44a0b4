#include "other_ranks.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/plain_text.hpp"

namespace ckpt_tool {
namespace {

using cairn::RegionInfo;
using cairn::reshape::Box;

Box own_box(const RegionInfo& info) {
  Box box;
  for (std::size_t i = 0; i < info.global_offset.size(); ++i) {
    box.first.push_back(static_cast<std::int64_t>(info.global_offset[i]));
    box.extent.push_back(info.own_length(i));
  }
  return box;
}

std::optional<Box> first_gap(const std::vector<const RegionInfo*>& parts) {
  std::vector<Box> boxes;
  for (const RegionInfo* part : parts) boxes.push_back(own_box(*part));
  // In rising order, so that what is left stays in few pieces.
  std::ranges::sort(boxes, {}, &Box::first);
  std::vector<Box> left{cairn::reshape::whole(parts.front()->global_shape)};
  for (const Box& box : boxes) left = difference(left, box);
  std::erase_if(left, [](const Box& box) { return box.empty(); });
  if (left.empty()) return {};
  return left.front();
}

RegionOnRanks look_at(const std::string& name, const std::vector<const RegionInfo*>& parts) {
  RegionOnRanks region{name, false, true, {}};
  for (const RegionInfo* part : parts) {
    region.has_place |= !part->global_shape.empty();
    region.is_one_array &= !part->global_shape.empty() && part->global_shape == parts.front()->global_shape;
  }
  if (region.is_one_array) region.gap = first_gap(parts);
  return region;
}

std::string names_of(const std::vector<RegionOnRanks>& regions, bool (*is_listed)(const RegionOnRanks&)) {
  std::vector<std::string> names;
  for (const RegionOnRanks& region : regions)
    if (is_listed(region)) names.push_back(cairn::escaped_for_terminal(region.name));
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

std::vector<RegionOnRanks> regions_on_ranks(const std::vector<RegionGroup>& groups) {
  std::vector<std::string> names;
  std::map<std::string, std::vector<const RegionInfo*>> parts;
  for (const RegionGroup& group : groups) {
    for (const RegionInfo& info : group.regions) {
      auto& of_name = parts[info.name];
      if (of_name.empty()) names.push_back(info.name);
      of_name.push_back(&info);
    }
  }
  std::vector<RegionOnRanks> regions;
  for (const std::string& name : names) regions.push_back(look_at(name, parts[name]));
  return regions;
}

std::string other_ranks_text(const std::vector<RegionOnRanks>& regions) {
  std::string text = "on another number of ranks\n";
  const auto by_place = names_of(regions, [](const RegionOnRanks& region) { return region.covers(); });
  const auto by_kind = names_of(regions, [](const RegionOnRanks& region) { return !region.covers(); });
  if (!by_place.empty()) text += fmt::format("  by their places, which cover the array: {}\n", by_place);
  if (!by_kind.empty()) text += fmt::format("  only if the program says their kinds: {}\n", by_kind);
  for (const RegionOnRanks& region : regions) {
    const std::string name = cairn::escaped_for_terminal(region.name);
    if (region.gap)
      text += fmt::format("    {}: no rank has {} of the array\n", name, cairn::reshape::text(*region.gap));
    else if (region.has_place && !region.is_one_array)
      text += fmt::format("    {}: not all ranks have a place in the same array\n", name);
  }
  return text;
}

}  // namespace ckpt_tool
