#include "session/region_list.hpp"

#include <utility>

namespace cairn {

void RegionList::put(ProtectedRegion region) {
  if (ProtectedRegion* const known = find(region.name())) {
    forget(*known);
    *known = std::move(region);
    note(*known);
    return;
  }
  if (regions_.size() == room_) close_gaps();
  regions_.push_back(std::move(region));
  note(regions_.back());
  add_to_index(by_name_, regions_.size() - 1);
}

bool RegionList::remove(std::string_view name) {
  ProtectedRegion* const known = find(name);
  if (known == nullptr) return false;
  forget(*known);
  *known = ProtectedRegion();
  ++gaps_;
  if (gaps_ > size() + kLeastRoom) close_gaps();
  return true;
}

ProtectedRegion* RegionList::find(std::string_view name) {
  const auto position = position_of(name);
  return position ? &regions_[*position] : nullptr;
}

const ProtectedRegion* RegionList::find(std::string_view name) const {
  const auto position = position_of(name);
  return position ? &regions_[*position] : nullptr;
}

// Gaps have the empty name, which no region has.
std::optional<std::uint32_t> RegionList::position_of(std::string_view name) const {
  if (name.empty()) return std::nullopt;
  return by_name_.find(name, [this](std::uint32_t at) -> std::string_view { return regions_[at].name(); });
}

void RegionList::note(const ProtectedRegion& region) {
  apart_ += region.is_apart() ? 1 : 0;
  resizable_ += region.is_resizable() ? 1 : 0;
}

void RegionList::forget(const ProtectedRegion& region) {
  apart_ -= region.is_apart() ? 1 : 0;
  resizable_ -= region.is_resizable() ? 1 : 0;
}

void RegionList::add_to_index(NameIndex& index, std::size_t position) const {
  index.add(static_cast<std::uint32_t>(position),
            [this](std::uint32_t at) -> std::string_view { return regions_[at].name(); });
}

// Also makes room for a quarter more at least, so that this is done seldom.
void RegionList::close_gaps() {
  std::size_t room = kLeastRoom;
  while (room < size() + size() / 4 + 1) room = 4 * room + 3;
  NameIndex index(room);
  std::erase_if(regions_, is_gap);
  gaps_ = 0;
  for (std::size_t i = 0; i < regions_.size(); ++i) add_to_index(index, i);
  by_name_ = std::move(index);
  room_ = room;
}

}  // namespace cairn
