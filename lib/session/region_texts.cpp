#include "session/region_texts.hpp"

#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/list_text.hpp"

namespace cairn {
namespace {

// "plate float64[100] (in the snapshot float64[90])". Types whose names differ only as they are stored show these.
std::string difference(const RegionInfo& region, const RegionInfo& stored) {
  const bool same = region.type_text() == stored.type_text();
  return fmt::format("{} {} (in the snapshot {})", region.name, same ? region.stored_type_text() : region.type_text(),
                     same ? stored.stored_type_text() : stored.type_text());
}

// "[2][0] of [8][5]"
std::string place_text(const RegionInfo& region) {
  const auto brackets = [](const std::vector<std::uint64_t>& numbers) {
    std::string text;
    for (const std::uint64_t number : numbers) text += fmt::format("[{}]", number);
    return text;
  };
  return fmt::format("{} of {}", brackets(region.global_offset), brackets(region.global_shape));
}

// Lists with their headings, those that are not empty.
std::string sentence(const std::vector<std::pair<std::string_view, std::vector<std::string>>>& lists) {
  std::string text;
  for (const auto& [heading, regions] : lists) {
    if (!regions.empty()) text += fmt::format("{}{}{}", text.empty() ? "" : "; ", heading, list_text(regions));
  }
  return text;
}

std::string hint_for(const RegionDifferences& differences) {
  if (!differences.fixed.empty()) return "start the job with the problem size of the snapshot";
  if (!differences.moved.empty())
    return "cut the array as in the snapshot, set [restart] elastic = on, or protect the array without a place";
  return "protect the same names with the same types and shapes as in the snapshot";
}

}  // namespace

std::string text_of(const RegionInfo& region) { return region.name + " " + region.type_text(); }

std::string list_text(const std::vector<std::string>& regions) {
  constexpr std::size_t kShown = 8;
  return regions.empty() ? "none" : first_few(regions, kShown);
}

std::string object_text(const std::string& name) { return fmt::format("object \"{}\"", name); }

Error null_pointer(const RegionInfo& region) {
  return {Code::invalid_argument,
          fmt::format("region \"{}\" of type {} is at a null pointer", region.name, region.type_text()),
          {}};
}

void RegionDifferences::note_changed(const RegionInfo& region, const RegionInfo& stored) {
  changed.push_back(difference(region, stored));
}

void RegionDifferences::note_fixed(const RegionInfo& region, const RegionInfo& stored) {
  fixed.push_back(difference(region, stored));
}

// "plate at [2][0] of [8][5] (in the snapshot at [4][0] of [8][5])"
void RegionDifferences::note_moved(const RegionInfo& region, const RegionInfo& stored) {
  moved.push_back(fmt::format("{} at {} (in the snapshot at {})", region.name, place_text(region), place_text(stored)));
}

Status RegionDifferences::as_mismatch(const std::string& only) const {
  const std::string differences = sentence({{"not in the snapshot: ", unknown},
                                            {"not protected: ", unprotected},
                                            {"of another type or shape: ", changed},
                                            {"of a fixed size, but another in the snapshot: ", fixed},
                                            {"another part of a global array: ", moved}});
  if (differences.empty()) return {};
  const std::string what = only.empty() ? "the protected regions do" : fmt::format("region \"{}\" does", only);
  return fail(Code::mismatch, fmt::format("{} not match the snapshot: {}", what, differences), hint_for(*this));
}

}  // namespace cairn
