#include "session/regions.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "session/region_texts.hpp"

namespace cairn {

Status Regions::protect(const std::string& name, detail::RegionAccess&& access) {
  auto region = ProtectedRegion::make(name, std::move(access), self_);
  if (!region) return fail(region.error());
  plan_.reset();
  regions_.put(*std::move(region));
  return {};
}

std::vector<std::string> Regions::names() const {
  std::vector<std::string> all;
  for (const ProtectedRegion& region : regions_) all.push_back(region.name());
  return all;
}

Status Regions::unprotect(const std::string& name) {
  if (!regions_.remove(name)) return fail(unknown(name));
  plan_.reset();
  return {};
}

Status Regions::set_kind(const std::string& name, detail::AnyKind kind) {
  ProtectedRegion* const region = regions_.find(name);
  return region != nullptr ? region->set_kind(std::move(kind)) : fail(unknown(name));
}

detail::AnyKind Regions::kind_of(const std::string& name) const {
  const ProtectedRegion* const region = regions_.find(name);
  return region != nullptr ? region->kind() : detail::AnyKind{};
}

Status Regions::set_destination(const std::string& name, const std::string& path) {
  ProtectedRegion* const region = regions_.find(name);
  return region != nullptr ? region->set_destination(path) : fail(unknown(name));
}

const std::string* Regions::scratch_path(const std::string& name) const {
  const ProtectedRegion* const region = regions_.find(name);
  return region != nullptr ? region->scratch_path() : nullptr;
}

Error Regions::unknown(const std::string& name) const {
  std::vector<std::string> all;
  for (const ProtectedRegion& region : regions_) all.push_back(text_of(region.info()));
  return {Code::invalid_argument,
          fmt::format("no region is named \"{}\"; the protected regions are: {}", name, list_text(all)),
          {}};
}

bool Regions::have_changed() const {
  if (regions_.resizable() == 0) return false;
  for (const ProtectedRegion& region : regions_) {
    if (region.has_changed()) return true;
  }
  return false;
}

ShardPlan::EachRegion Regions::each_region() {
  return [this](const std::function<Status(const RegionInfo&)>& look) -> Status {
    RegionInfo info;
    for (ProtectedRegion& region : regions_) {
      if (auto whole = region.plan(); !whole) return whole;
      region.describe(info);
      if (auto looked = look(info); !looked) return looked;
    }
    return {};
  };
}

Result<const ShardPlan*> Regions::plan() {
  if (plan_ && !have_changed()) return &*plan_;
  plan_.reset();
  auto made = ShardPlan::make(regions_.size(), each_region(), digest_);
  if (!made) return fail(made.error());
  return &plan_.emplace(std::move(*made));
}

Result<std::uint64_t> Regions::shard_bytes() {
  if (plan_ && !have_changed()) return plan_->header().file_bytes();
  plan_.reset();
  return ShardPlan::header_of(regions_.size(), each_region(), digest_).map(&ShardHeader::file_bytes);
}

Result<Regions::Capture> Regions::capture() {
  const auto type_changed = apart().prepare();
  if (!type_changed) return fail(type_changed.error());
  if (*type_changed) plan_.reset();
  const auto now = plan();
  if (!now) return fail(now.error());
  captured_.clear();
  captured_.reserve(regions_.size());
  std::map<std::size_t, const ProtectedRegion*> files;
  for (const ProtectedRegion& region : regions_) {
    const std::uint64_t bytes = (*now)->places()[captured_.size()].bytes;
    if (region.file() != nullptr) {
      files[captured_.size()] = &region;
      captured_.emplace_back();
      continue;
    }
    const std::byte* const data = region.data();
    if (data == nullptr && bytes > 0) return fail(null_pointer(region.info()));
    captured_.emplace_back(data, bytes);
  }
  ReadRegion read;
  if (!files.empty())
    read = [files = std::move(files)](std::size_t region, std::uint64_t offset, MutableBytes into) {
      const ProtectedRegion& file = *files.at(region);
      auto done = file.file()->read(offset, into);
      return done ? done : Status(fail(done.error().in(file.text())));
    };
  return Capture{**now, captured_, std::move(read)};
}

// The error lists differences only.
Status Regions::check_against(const Shard& shard, const std::string& only) const {
  RegionDifferences found;
  for (const ProtectedRegion& region : regions_) {
    if (!region.is_asked(only)) continue;
    const auto position = shard.find(region.name());
    if (!position) {
      found.unknown.push_back(text_of(region.info()));
      continue;
    }
    const RegionInfo& stored = shard.regions()[*position].info;
    if (!region.fits(stored))
      found.note_changed(region.info(), stored);
    else if (region.has_fixed_size_other_than(stored))
      found.note_fixed(region.info(), stored);
    else if (region.has_place_other_than(stored))
      found.note_moved(region.info(), stored);
  }
  for (const PlacedRegion& region : shard.regions()) {
    if ((only.empty() || region.info.name == only) && regions_.find(region.info.name) == nullptr)
      found.unprotected.push_back(text_of(region.info));
  }
  if (!only.empty() && regions_.find(only) == nullptr && found.unprotected.empty())
    found.unknown.push_back(fmt::format("{}, and not protected", only));
  return found.as_mismatch(only);
}

Result<bool> Regions::are_as_in(const ShardFile& shard) {
  const auto now = plan();
  if (!now || (*now)->header().table_crc != shard.header().table_crc) return false;
  return shard.has_table((*now)->table());
}

// False: something else is needed, and nothing was touched.
Result<bool> Regions::restore_as_planned(const ShardFile& shard) {
  if (apart().have_files()) return false;
  const auto same = are_as_in(shard);
  if (!same || !*same) return same;
  std::vector<ShardFile::Part> parts;
  parts.reserve(regions_.size());
  auto place = plan_->places().begin();
  for (const ProtectedRegion& region : regions_) {
    const auto& [begin, bytes] = *place++;
    if (bytes == 0) continue;
    std::byte* const data = region.data();
    if (data == nullptr) return fail(null_pointer(region.info()));
    parts.push_back({begin, MutableBytes(data, bytes)});
  }
  if (auto read = shard.read_parts(parts); !read) return fail(read.error());
  return true;
}

Status Regions::restore(const ShardFile& file, const std::string& only) {
  if (only.empty()) {
    const auto done = restore_as_planned(file);
    if (!done) return fail(done.error());
    if (*done) return {};
  }
  const auto shard = Shard::of(file);
  if (!shard) return fail(shard.error());
  if (auto status = check_against(*shard, only); !status) return status;
  std::vector<Shard::Target> targets;
  for (const ProtectedRegion& region : regions_) {
    if (region.file() != nullptr || !region.is_asked(only)) continue;
    const std::size_t position = *shard->find(region.name());
    const RegionInfo& stored = shard->regions()[position].info;
    if (region.is_resizable()) region.resize(stored.shape.front() * region.row_elements());
    std::byte* const data = region.data();
    if (data == nullptr && stored.size_bytes() > 0) return fail(null_pointer(stored));
    targets.push_back({position, MutableBytes(data, stored.size_bytes())});
  }
  if (auto read = shard->read(targets); !read) return read;
  for (const ProtectedRegion& region : regions_) {
    if (region.file() == nullptr || !region.is_asked(only)) continue;
    auto prepared = region.file()->prepare(*shard, shard->regions()[*shard->find(region.name())]);
    if (!prepared) return fail(prepared.error().in(region.text()));
  }
  return {};
}

Result<std::vector<reshape::Wanted>> Regions::wanted() {
  if (auto now = plan(); !now) return fail(now.error());
  return exchange().wanted();
}

std::vector<std::uint64_t> Regions::container_sizes() const {
  std::vector<std::uint64_t> sizes;
  if (regions_.resizable() == regions_.apart()) return sizes;
  for (const ProtectedRegion& region : regions_) {
    if (region.is_container()) sizes.push_back(region.elements());
  }
  return sizes;
}

std::vector<ResizedRegion> Regions::resized_since(const std::vector<std::uint64_t>& sizes) const {
  std::vector<ResizedRegion> resized;
  if (sizes.empty()) return resized;
  auto size = sizes.begin();
  for (const ProtectedRegion& region : regions_) {
    if (!region.is_container()) continue;
    const std::uint64_t before = *size++;
    if (before == 0) continue;
    if (const std::uint64_t now = region.elements(); now != before) resized.push_back({region.name(), before, now});
  }
  return resized;
}

}  // namespace cairn
