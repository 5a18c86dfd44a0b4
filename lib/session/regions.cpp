#include "session/regions.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/list_text.hpp"

namespace cairn {
namespace {

ElementType element_type(Element element) {
  switch (element) {
    case Element::opaque: return ElementType::opaque;
    case Element::int8: return ElementType::int8;
    case Element::int16: return ElementType::int16;
    case Element::int32: return ElementType::int32;
    case Element::int64: return ElementType::int64;
    case Element::uint8: return ElementType::uint8;
    case Element::uint16: return ElementType::uint16;
    case Element::uint32: return ElementType::uint32;
    case Element::uint64: return ElementType::uint64;
    case Element::float32: return ElementType::float32;
    case Element::float64: return ElementType::float64;
  }
  return ElementType::opaque;
}

// Elements in one step of a container's first dimension.
std::uint64_t row_elements(const detail::RegionAccess& access) {
  std::uint64_t elements = 1;
  for (const std::uint64_t extent : access.shape) elements *= extent;
  return elements;
}

// "plate float64[100]"
std::string text_of(const RegionInfo& region) { return region.name + " " + region.type_text(); }

// "plate float64[100], step int32": the first few.
std::string list_text(const std::vector<std::string>& regions) {
  constexpr std::size_t kShown = 8;
  return regions.empty() ? "none" : first_few(regions, kShown);
}

// Lists with their headings, those that are not empty.
std::string sentence(const std::vector<std::pair<std::string_view, std::vector<std::string>>>& lists) {
  std::string text;
  for (const auto& [heading, regions] : lists) {
    if (!regions.empty()) text += fmt::format("{}{}{}", text.empty() ? "" : "; ", heading, list_text(regions));
  }
  return text;
}

Error null_pointer(const RegionInfo& region) {
  return {Code::invalid_argument,
          fmt::format("region \"{}\" is {} at a null pointer", region.name, region.type_text()),
          {}};
}

}  // namespace

Status Regions::protect(const std::string& name, detail::RegionAccess access) {
  Region region{name, std::move(access)};
  if (auto status = check(describe(region)); !status) return status;
  plan_.reset();
  const auto known = by_name_.find(name);
  if (known == by_name_.end())
    by_name_.emplace(name, regions_.insert(regions_.end(), std::move(region)));
  else
    *known->second = std::move(region);
  return {};
}

Status Regions::unprotect(const std::string& name) {
  const auto known = by_name_.find(name);
  if (known != by_name_.end()) {
    plan_.reset();
    regions_.erase(known->second);
    by_name_.erase(known);
    return {};
  }
  std::vector<std::string> all;
  for (const Region& region : regions_) all.push_back(text_of(describe(region)));
  return fail(Code::invalid_argument,
              fmt::format("no region is named \"{}\"; protected are: {}", name, list_text(all)));
}

// A scalar or an array has the shape it was protected with; a container the extent it has now.
RegionInfo Regions::describe(const Region& region) {
  const detail::RegionAccess& access = region.access;
  RegionInfo info;
  info.name = region.name;
  info.type = element_type(access.element);
  info.element_bytes = access.element_bytes;
  info.type_name = access.type_name;
  info.shape = access.shape;
  if (access.resize)
    info.shape.insert(info.shape.begin(), access.elements() / std::max<std::uint64_t>(1, row_elements(access)));
  if (access.place) {
    info.global_shape = access.place->shape;
    info.global_offset = access.place->offset;
  }
  return info;
}

Status Regions::make_plan() {
  std::vector<RegionInfo> infos;
  infos.reserve(regions_.size());
  for (Region& region : regions_) {
    RegionInfo& info = infos.emplace_back(describe(region));
    if (!region.access.resize) continue;
    region.planned_elements = region.access.elements();
    if (info.elements() == region.planned_elements) continue;
    return fail(Code::invalid_argument,
                fmt::format("region \"{}\" has {} elements, which is not a whole number of rows of {}", region.name,
                            region.planned_elements, row_elements(region.access)));
  }
  auto plan = ShardPlan::make(infos, digest_);
  if (!plan) return fail(plan.error());
  plan_ = std::move(*plan);
  return {};
}

Result<Regions::Capture> Regions::capture() {
  const auto has_changed = [](const Region& region) {
    return region.access.resize && region.access.elements() != region.planned_elements;
  };
  if (!plan_ || std::ranges::any_of(regions_, has_changed)) {
    plan_.reset();
    if (auto status = make_plan(); !status) return fail(status.error());
  }
  captured_.clear();
  for (const Region& region : regions_) {
    const std::uint64_t bytes = plan_->places()[captured_.size()].bytes;
    const auto* data = static_cast<const std::byte*>(region.access.data());
    if (data == nullptr && bytes > 0) return fail(null_pointer(describe(region)));
    captured_.emplace_back(data, bytes);
  }
  return Capture{*plan_, captured_};
}

bool Regions::fits(const Region& region, const RegionInfo& stored) {
  const RegionInfo now = describe(region);
  if (now.type != stored.type || now.element_bytes != stored.element_bytes || now.type_name != stored.type_name)
    return false;
  if (!region.access.resize) return now.shape == stored.shape;
  return stored.shape.size() == now.shape.size() &&
         std::equal(now.shape.begin() + 1, now.shape.end(), stored.shape.begin() + 1);
}

// The error lists differences only.
Status Regions::check_against(const Shard& shard, const std::string& only) const {
  const auto asked = [&](const std::string& name) { return only.empty() || name == only; };
  std::vector<std::string> unknown;
  std::vector<std::string> changed;
  for (const Region& region : regions_) {
    if (!asked(region.name)) continue;
    const auto found = shard.find(region.name);
    const std::string here = text_of(describe(region));
    if (!found)
      unknown.push_back(here);
    else if (const RegionInfo& stored = shard.regions()[*found].info; !fits(region, stored))
      changed.push_back(fmt::format("{} (in the snapshot {})", here, stored.type_text()));
  }
  std::vector<std::string> unprotected;
  for (const PlacedRegion& region : shard.regions()) {
    if (asked(region.info.name) && !by_name_.contains(region.info.name)) unprotected.push_back(text_of(region.info));
  }
  if (!only.empty() && !by_name_.contains(only) && unprotected.empty())
    unknown.push_back(fmt::format("{}, which is not protected either", only));
  const std::string differences = sentence(
      {{"not in the snapshot: ", unknown}, {"not protected: ", unprotected}, {"of another type or shape: ", changed}});
  if (differences.empty()) return {};
  const std::string what = only.empty() ? "the protected regions do" : fmt::format("region \"{}\" does", only);
  return fail(Code::mismatch, fmt::format("{} not match the snapshot: {}", what, differences),
              "protect the same names with the same types and shapes as when it was taken");
}

Status Regions::restore(const Shard& shard, const std::string& only) const {
  if (auto status = check_against(shard, only); !status) return status;
  std::vector<Shard::Target> targets;
  for (const Region& region : regions_) {
    if (!only.empty() && region.name != only) continue;
    const std::size_t position = *shard.find(region.name);
    const RegionInfo& stored = shard.regions()[position].info;
    if (region.access.resize) region.access.resize(stored.shape.front() * row_elements(region.access));
    auto* data = static_cast<std::byte*>(region.access.data());
    if (data == nullptr && stored.size_bytes() > 0) return fail(null_pointer(stored));
    targets.push_back({position, MutableBytes(data, stored.size_bytes())});
  }
  return shard.read(targets, false);
}

}  // namespace cairn
