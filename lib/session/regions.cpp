#include "session/regions.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "format/directory_table.hpp"
#include "reshape/tiles.hpp"
#include "session/protected_directory.hpp"
#include "session/region_texts.hpp"

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

// Sequences have elements, and one that is cut like another names it.
Status check_kind(const RegionInfo& region, const detail::AnyKind& kind) {
  const auto* like = std::get_if<Like>(&kind);
  const bool is_sequence =
      like != nullptr || std::holds_alternative<Sequence>(kind) || std::holds_alternative<SequencePart>(kind);
  if (is_sequence && (region.is_object() || region.is_file() || is_directory(region))) {
    const char* const what = region.is_object() ? "an object" : region.is_file() ? "a file" : "a directory";
    return fail(Code::invalid_argument, fmt::format("region \"{}\" is {}, and no sequence", region.name, what),
                "it can be the same on all ranks, or of one old rank");
  }
  if (is_sequence && region.shape.empty()) {
    return fail(Code::invalid_argument, fmt::format("region \"{}\" is one value, and no sequence", region.name),
                "it can be the same on all ranks, or of one old rank; a sequence is an array");
  }
  if (like != nullptr && (like->region.empty() || like->region == region.name)) {
    return fail(Code::invalid_argument,
                fmt::format("region \"{}\" is to be cut like \"{}\"", region.name, like->region),
                "give the name of another region, which is a sequence");
  }
  return {};
}

// Without ghosts, the table of a shard does not mention them.
void take_ghosts(const GlobalPlace& place, RegionInfo& info) {
  const auto is_zero = [](const std::vector<std::uint64_t>& widths) {
    return std::ranges::all_of(widths, [](std::uint64_t width) { return width == 0; });
  };
  if (is_zero(place.ghosts_before) && is_zero(place.ghosts_after)) return;
  const std::vector<std::uint64_t> none(info.global_shape.size(), 0);
  info.ghosts_before = place.ghosts_before.empty() ? none : place.ghosts_before;
  info.ghosts_after = place.ghosts_after.empty() ? none : place.ghosts_after;
}

// Its bytes are a container, which only this and the application's functions see.
void make_object(detail::RegionAccess& access, const std::shared_ptr<SavedObject>& object) {
  access.type_name = kObjectType;
  access.elements = [object] { return object->bytes().size(); };
  access.resize = [object](std::size_t bytes) { object->bytes().resize(bytes); };
  access.data = [object]() -> void* { return object->bytes().data(); };
}

// In an exchange with other ranks it is in memory.
void make_file(detail::RegionAccess& access, const std::shared_ptr<ProtectedPath>& file) {
  access.type_name = access.path_kind == detail::PathKind::directory ? kDirectoryType : kFileType;
  access.elements = [file] { return file->size(); };
  access.resize = [file](std::size_t bytes) { file->use_memory(bytes); };
  access.data = [file]() -> void* { return file->memory().data(); };
}

void replace_all(std::string& text, std::string_view from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

}  // namespace

// A scalar or an array has the shape it was protected with; a container the extent it has now.
Regions::Region Regions::region_of(const std::string& name, detail::RegionAccess access) const {
  Region region;
  if (!access.file.empty()) {
    region.file = make_protected_path(access.file, access.path_kind, self_);
    region.is_scratch = access.path_kind == detail::PathKind::scratch_file;
    region.path = region.is_scratch ? access.file : absolute_path(access.file);
    make_file(access, region.file);
  }
  if (access.save) {
    region.object = std::make_shared<SavedObject>(std::move(access.save), std::move(access.load));
    make_object(access, region.object);
  }
  RegionInfo& info = region.info;
  info.name = name;
  info.type = element_type(access.element);
  info.element_bytes = access.element_bytes;
  info.type_name = std::move(access.type_name);
  info.shape = std::move(access.shape);
  if (access.place) {
    info.global_shape = std::move(access.place->shape);
    info.global_offset = std::move(access.place->offset);
    take_ghosts(*access.place, info);
  }
  region.elements = std::move(access.elements);
  region.resize = std::move(access.resize);
  region.data = std::move(access.data);
  region.fixed_size = access.fixed_size;
  region.kind = std::move(access.kind);
  if (region.resize) {
    info.shape.insert(info.shape.begin(), 0);
    region.look();
  }
  return region;
}

std::uint64_t Regions::Region::row_elements() const {
  return std::accumulate(info.shape.begin() + 1, info.shape.end(), std::uint64_t{1}, std::multiplies<>());
}

void Regions::Region::look() {
  if (resize) info.shape.front() = elements() / std::max<std::uint64_t>(1, row_elements());
}

bool Regions::Region::has_changed() const { return resize && elements() != planned_elements; }

bool Regions::Region::fits(const RegionInfo& stored) const {
  if (!same_type(info, stored)) return false;
  if (!resize) return info.shape == stored.shape;
  return stored.shape.size() == info.shape.size() &&
         std::equal(info.shape.begin() + 1, info.shape.end(), stored.shape.begin() + 1);
}

bool Regions::Region::has_fixed_size_other_than(const RegionInfo& stored) const {
  return fixed_size && info.shape.front() != stored.shape.front();
}

bool Regions::Region::has_place_other_than(const RegionInfo& stored) const {
  if (info.global_shape.empty() || stored.global_shape.empty()) return false;
  return info.global_shape != stored.global_shape || info.global_offset != stored.global_offset ||
         info.ghosts_before != stored.ghosts_before || info.ghosts_after != stored.ghosts_after;
}

Status Regions::protect(const std::string& name, detail::RegionAccess access) {
  if (!access.data && access.file.empty() && (!access.save || !access.load))
    return fail(
        Code::invalid_argument,
        fmt::format("protect: a function of object \"{}\", or the path of a file or directory, is empty", name));
  Region region = region_of(name, std::move(access));
  if (auto status = check(region.info); !status) return status;
  if (auto status = check_kind(region.info, region.kind); !status) return status;
  plan_.reset();
  const auto added = regions_.insert(regions_.end(), std::move(region));
  const auto [known, is_new] = by_name_.try_emplace(added->info.name, added);
  if (is_new) return {};
  // It takes the place of the other, in the order too.
  const auto other = known->second;
  by_name_.erase(known);
  by_name_.emplace(added->info.name, added);
  regions_.splice(other, regions_, added);
  regions_.erase(other);
  return {};
}

std::vector<std::string> Regions::names() const {
  std::vector<std::string> all;
  for (const Region& region : regions_) all.push_back(region.info.name);
  return all;
}

Status Regions::unprotect(const std::string& name) {
  const auto known = by_name_.find(name);
  if (known == by_name_.end()) return fail(unknown(name));
  plan_.reset();
  const auto region = known->second;
  by_name_.erase(known);
  regions_.erase(region);
  return {};
}

Status Regions::set_kind(const std::string& name, detail::AnyKind kind) {
  const auto known = by_name_.find(name);
  if (known == by_name_.end()) return fail(unknown(name));
  Region& region = *known->second;
  if (!region.info.global_shape.empty()) {
    return fail(Code::invalid_argument, fmt::format("region \"{}\" is a part of a global array", name),
                "such a region needs no kind; protect it without a place to give it one");
  }
  if (auto status = check_kind(region.info, kind); !status) return status;
  region.kind = std::move(kind);
  return {};
}

Error Regions::unknown(const std::string& name) {
  std::vector<std::string> all;
  for (Region& region : regions_) {
    region.look();
    all.push_back(text_of(region.info));
  }
  return {Code::invalid_argument,
          fmt::format("no region is named \"{}\"; the protected regions are: {}", name, list_text(all)),
          {}};
}

Result<const ShardPlan*> Regions::plan() {
  if (plan_ && std::ranges::none_of(regions_, &Region::has_changed)) return &*plan_;
  plan_.reset();
  std::vector<const RegionInfo*> infos;
  infos.reserve(regions_.size());
  for (Region& region : regions_) {
    region.look();
    infos.push_back(&region.info);
    if (!region.resize) continue;
    region.planned_elements = region.elements();
    if (region.planned_elements == region.info.elements()) continue;
    return fail(Code::invalid_argument,
                fmt::format("region \"{}\" has {} elements, which are not a whole number of rows of {}",
                            region.info.name, region.planned_elements, region.row_elements()));
  }
  auto made = ShardPlan::make(infos, digest_);
  if (!made) return fail(made.error());
  return &plan_.emplace(std::move(*made));
}

// The plan has their lengths and permissions.
Status Regions::open_files() {
  for (Region& region : regions_) {
    if (!region.file) continue;
    if (auto opened = region.file->open(); !opened) return fail(opened.error().in(region.file->text(region.info.name)));
    std::string type = region.file->type_name();
    if (type != region.info.type_name) plan_.reset();
    region.info.type_name = std::move(type);
  }
  return {};
}

Result<Regions::Capture> Regions::capture() {
  if (auto opened = open_files(); !opened) return fail(opened.error());
  for (const Region& region : regions_) {
    if (!region.object) continue;
    if (auto saved = region.object->save(); !saved) return fail(saved.error().in(object_text(region.info.name)));
  }
  const auto now = plan();
  if (!now) return fail(now.error());
  captured_.clear();
  std::map<std::size_t, const Region*> files;
  for (const Region& region : regions_) {
    const std::uint64_t bytes = (*now)->places()[captured_.size()].bytes;
    if (region.file) {
      files[captured_.size()] = &region;
      captured_.emplace_back();
      continue;
    }
    const auto* data = static_cast<const std::byte*>(region.data());
    if (data == nullptr && bytes > 0) return fail(null_pointer(region.info));
    captured_.emplace_back(data, bytes);
  }
  ReadRegion read;
  if (!files.empty())
    read = [files = std::move(files)](std::size_t region, std::uint64_t offset, MutableBytes into) {
      const Region& file = *files.at(region);
      auto done = file.file->read(offset, into);
      return done ? done : Status(fail(done.error().in(file.file->text(file.info.name))));
    };
  return Capture{**now, captured_, std::move(read)};
}

void Regions::release() {
  for (const Region& region : regions_) {
    if (region.object) region.object->free();
    if (!region.file) continue;
    region.file->close();
    region.file->forget();
  }
}

Status Regions::set_destination(const std::string& name, const std::string& path) {
  const auto known = by_name_.find(name);
  if (known == by_name_.end()) return fail(unknown(name));
  Region& region = *known->second;
  if (!region.info.is_file())
    return fail(Code::invalid_argument, fmt::format("region \"{}\" is no file: it cannot have a destination", name),
                "protect a file, or a scratch file, with this name");
  const std::string whole = path.empty() ? path : absolute_path(path);
  if (whole == region.path)
    return fail(Code::invalid_argument, fmt::format("the destination of file \"{}\" is the file itself", name));
  region.destination = whole;
  return {};
}

Destinations Regions::destinations(Version version) const {
  Destinations all;
  for (const Region& region : regions_) {
    if (region.destination.empty()) continue;
    std::string path = region.destination;
    replace_all(path, "{version}", std::to_string(version.value));
    replace_all(path, "{rank}", std::to_string(self_.value));
    all.push_back({region.info.name, std::move(path)});
  }
  return all;
}

void Regions::end_snapshot() {
  release();
  for (const Region& region : regions_) {
    if (region.file) region.file->end_snapshot();
  }
}

const std::string* Regions::scratch_path(const std::string& name) const {
  const auto known = by_name_.find(name);
  return known == by_name_.end() || !known->second->is_scratch ? nullptr : &known->second->path;
}

bool Regions::have_scratch_files() const { return std::ranges::any_of(regions_, &Region::is_scratch); }

Status Regions::prepare_files() {
  for (const Region& region : regions_) {
    if (!region.file) continue;
    if (auto done = region.file->prepare_from_memory(); !done)
      return fail(done.error().in(region.file->text(region.info.name)));
  }
  return {};
}

bool Regions::have_to_complete(const std::string& only) const {
  return std::ranges::any_of(
      regions_, [&](const Region& region) { return (region.object || region.file) && region.is_asked(only); });
}

Status Regions::complete(const std::string& only) {
  for (const Region& region : regions_) {
    if (!region.file || !region.is_asked(only)) continue;
    if (auto done = region.file->put_back(); !done) return fail(done.error().in(region.file->text(region.info.name)));
  }
  for (const Region& region : regions_) {
    if (!region.object || !region.is_asked(only)) continue;
    if (auto loaded = region.object->load(); !loaded) return fail(loaded.error().in(object_text(region.info.name)));
  }
  return {};
}

// The error lists differences only.
Status Regions::check_against(const Shard& shard, const std::string& only) {
  RegionDifferences found;
  for (Region& region : regions_) {
    if (!region.is_asked(only)) continue;
    region.look();
    const auto position = shard.find(region.info.name);
    if (!position) {
      found.unknown.push_back(text_of(region.info));
      continue;
    }
    const RegionInfo& stored = shard.regions()[*position].info;
    if (!region.fits(stored))
      found.note_changed(region.info, stored);
    else if (region.has_fixed_size_other_than(stored))
      found.note_fixed(region.info, stored);
    else if (region.has_place_other_than(stored))
      found.note_moved(region.info, stored);
  }
  for (const PlacedRegion& region : shard.regions()) {
    if ((only.empty() || region.info.name == only) && !by_name_.contains(region.info.name))
      found.unprotected.push_back(text_of(region.info));
  }
  if (!only.empty() && !by_name_.contains(only) && found.unprotected.empty())
    found.unknown.push_back(fmt::format("{}, and not protected", only));
  return found.as_mismatch(only);
}

// If the regions would be written now with exactly the table that the shard has, each of them is where the plan says.
// Many regions then need no parsing and no search. False: they would not, and nothing was touched.
Result<bool> Regions::restore_as_planned(const ShardFile& shard) {
  if (std::ranges::any_of(regions_, [](const Region& region) { return region.file != nullptr; })) return false;
  const auto now = plan();
  if (!now) return false;
  const ShardHeader& planned = (*now)->header();
  if (planned.table_crc != shard.header().table_crc || planned.table_bytes != shard.header().table_bytes) return false;
  const auto table = shard.table();
  if (!table) return fail(table.error());
  if (!std::ranges::equal(*table, (*now)->table())) return false;
  std::vector<ShardFile::Part> parts;
  parts.reserve(regions_.size());
  auto place = (*now)->places().begin();
  for (const Region& region : regions_) {
    const auto& [begin, bytes] = *place++;
    if (bytes == 0) continue;
    auto* data = static_cast<std::byte*>(region.data());
    if (data == nullptr) return fail(null_pointer(region.info));
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
  for (const Region& region : regions_) {
    if (region.file || !region.is_asked(only)) continue;
    const std::size_t position = *shard->find(region.info.name);
    const RegionInfo& stored = shard->regions()[position].info;
    if (region.resize) region.resize(stored.shape.front() * region.row_elements());
    auto* data = static_cast<std::byte*>(region.data());
    if (data == nullptr && stored.size_bytes() > 0) return fail(null_pointer(stored));
    targets.push_back({position, MutableBytes(data, stored.size_bytes())});
  }
  if (auto read = shard->read(targets); !read) return read;
  for (const Region& region : regions_) {
    if (!region.file || !region.is_asked(only)) continue;
    auto prepared = region.file->prepare(*shard, shard->regions()[*shard->find(region.info.name)]);
    if (!prepared) return fail(prepared.error().in(region.file->text(region.info.name)));
  }
  return {};
}

reshape::Share Regions::Region::share() const {
  if (!info.global_shape.empty())
    return reshape::Block{info.global_shape, info.global_offset, info.ghosts_before, info.ghosts_after, {}};
  if (const auto* part = std::get_if<SequencePart>(&kind))
    return reshape::Sequence{.part = reshape::Sequence::Part{part->first, part->count}};
  if (const auto* other = std::get_if<Like>(&kind)) return reshape::Sequence{.like = other->region};
  if (const auto* one = std::get_if<OfRank>(&kind)) return reshape::OfRank{Rank{one->rank}};
  if (std::holds_alternative<Sequence>(kind)) return reshape::Sequence{};
  if (std::holds_alternative<Same>(kind)) return reshape::Same{};
  return reshape::Unsaid{};
}

// A container without elements has not been given a size yet.
bool Regions::Region::is_of_others(const RegionInfo& stored, Rank self) const {
  if (has_place_other_than(stored) || std::holds_alternative<SequencePart>(kind)) return true;
  if (const auto* one = std::get_if<OfRank>(&kind)) return one->rank != self.value;
  const bool is_part =
      !info.global_shape.empty() || std::holds_alternative<Sequence>(kind) || std::holds_alternative<Like>(kind);
  const bool keeps_size = !resize || fixed_size || (!info.global_shape.empty() && info.shape.front() > 0);
  return is_part && keeps_size && info.shape != stored.shape;
}

bool Regions::need_exchange(const Shard& shard, Rank self) {
  return std::ranges::any_of(regions_, [&](Region& region) {
    region.look();
    const auto found = shard.find(region.info.name);
    return found && region.is_of_others(shard.regions()[*found].info, self);
  });
}

std::optional<std::uint64_t> Regions::share_of(const std::string& name, const StoredRegions& all, Rank self,
                                               std::uint32_t ranks) {
  const auto stored = all.find(name);
  if (stored == all.end()) return std::nullopt;
  const StoredRegion& region = stored->second;
  const auto known = by_name_.find(name);
  const detail::AnyKind kind = kind_of(name);
  if (known != by_name_.end() && !known->second->info.global_shape.empty()) {
    known->second->look();
    return known->second->info.elements();
  }
  if (std::holds_alternative<Same>(kind)) return region.elements / region.shards;
  if (const auto* part = std::get_if<SequencePart>(&kind)) return part->count * region.elements_in_step();
  if (const auto* other = std::get_if<Like>(&kind)) {
    const auto model = all.find(other->region);
    const auto share = share_of(other->region, all, self, ranks);
    if (!share || model->second.elements == 0) return 0;
    return *share / model->second.elements_in_step() * (region.steps / model->second.steps) * region.elements_in_step();
  }
  return reshape::even_share(region.steps, self.value, ranks).count * region.elements_in_step();
}

Result<std::vector<reshape::Wanted>> Regions::wanted() {
  if (auto now = plan(); !now) return fail(now.error());
  std::vector<reshape::Wanted> wanted;
  for (Region& region : regions_) {
    reshape::Wanted& one = wanted.emplace_back();
    one.info = region.info;
    one.share = region.share();
    // A part of a global array keeps its size, which says how large the part is.
    if (region.resize && !region.fixed_size && region.info.global_shape.empty()) {
      one.memory = [&region](std::uint64_t steps) {
        region.resize(steps * region.row_elements());
        region.look();
        return MutableBytes(static_cast<std::byte*>(region.data()), region.info.size_bytes());
      };
      continue;
    }
    auto* data = static_cast<std::byte*>(region.data());
    if (data == nullptr && region.info.size_bytes() > 0) return fail(null_pointer(region.info));
    one.memory = MutableBytes(data, region.info.size_bytes());
  }
  return wanted;
}

std::vector<std::uint64_t> Regions::container_sizes() const {
  std::vector<std::uint64_t> sizes;
  sizes.reserve(regions_.size());
  for (const Region& region : regions_)
    sizes.push_back(region.resize && !region.object && !region.file ? region.elements() : 0);
  return sizes;
}

std::vector<ResizedRegion> Regions::resized_since(const std::vector<std::uint64_t>& sizes) const {
  std::vector<ResizedRegion> resized;
  auto size = sizes.begin();
  for (const Region& region : regions_) {
    const std::uint64_t before = *size++;
    if (before == 0) continue;
    if (const std::uint64_t now = region.elements(); now != before) resized.push_back({region.info.name, before, now});
  }
  return resized;
}

}  // namespace cairn
