#include "session/protected_region.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "session/protected_directory.hpp"
#include "session/region_access.hpp"
#include "session/region_texts.hpp"

namespace cairn {

struct ProtectedRegion::Special {
  RegionInfo info;  // of what is resizable, shape[0] counts for nothing
  detail::AnyKind kind = {};
  std::unique_ptr<SavedObject> object = {};
  std::shared_ptr<ProtectedPath> file = {};
  std::string path = {};
  bool is_scratch = false;
  std::string destination = {};
};

ProtectedRegion::ProtectedRegion() = default;
ProtectedRegion::ProtectedRegion(ProtectedRegion&&) noexcept = default;
ProtectedRegion& ProtectedRegion::operator=(ProtectedRegion&&) noexcept = default;
ProtectedRegion::~ProtectedRegion() = default;

Result<ProtectedRegion> ProtectedRegion::make(const std::string& name, detail::RegionAccess&& access, Rank self) {
  if (!is_complete(access))
    return fail(
        Code::invalid_argument,
        fmt::format("protect: a function of object \"{}\", or the path of a file or directory, is empty", name));
  const bool is_special = !is_plain(access);
  RegionInfo info = info_of(name, access);
  if (auto good = check(info); !good) return fail(good.error());
  if (auto good = check_kind(info, access.kind); !good) return fail(good.error());
  ProtectedRegion region;
  region.name_ = name;
  region.object_ = access.object;
  region.calls_ = access.calls;
  region.element_bytes_ = info.element_bytes;
  region.type_ = info.type;
  region.is_array_ = !info.shape.empty();
  region.has_fixed_size_ = access.fixed_size;
  if (region.is_array_) region.length_ = info.shape.front();
  if (!is_special) return region;
  region.special_ = std::make_unique<Special>(Special{std::move(info), std::move(access.kind)});
  if (access.is_saved)
    region.special_->object = std::make_unique<SavedObject>(std::move(access.save), std::move(access.load));
  if (access.path_kind) {
    region.special_->file = make_protected_path(access.file, *access.path_kind, self);
    region.special_->is_scratch = access.path_kind == detail::PathKind::scratch_file;
    region.special_->path = region.special_->is_scratch ? access.file : absolute_path(access.file);
  }
  return region;
}

RegionInfo ProtectedRegion::info() const {
  RegionInfo now;
  describe(now);
  return now;
}

void ProtectedRegion::describe(RegionInfo& info) const {
  if (special_) {
    info = special_->info;
  } else {
    info.name = name_;
    info.type = type_;
    info.element_bytes = element_bytes_;
    info.type_name.clear();
    info.shape.assign(is_array_ ? 1 : 0, length_);
    for (auto* numbers : {&info.global_shape, &info.global_offset, &info.ghosts_before, &info.ghosts_after})
      numbers->clear();
  }
  if (is_resizable()) info.shape.front() = elements() / std::max<std::uint64_t>(1, row_elements());
}

bool ProtectedRegion::is_part_of_array() const { return special_ && !special_->info.global_shape.empty(); }

std::uint64_t ProtectedRegion::elements() const {
  if (SavedObject* const saved = object()) return saved->bytes().size();
  if (const ProtectedPath* const path = file()) return path->size();
  if (is_container()) return calls_->elements(object_);
  return special_ ? special_->info.elements() : length_;
}

std::uint64_t ProtectedRegion::row_elements() const { return special_ ? cairn::row_elements(special_->info.shape) : 1; }

void ProtectedRegion::resize(std::uint64_t elements) const {
  if (SavedObject* const saved = object())
    saved->bytes().resize(elements);
  else if (ProtectedPath* const path = file())
    path->use_memory(elements);
  else
    calls_->resize(object_, elements);
}

std::byte* ProtectedRegion::data() const {
  if (SavedObject* const saved = object()) return saved->bytes().data();
  if (ProtectedPath* const path = file()) return path->memory().data();
  return static_cast<std::byte*>(calls_ != nullptr ? calls_->data(object_) : object_);
}

Status ProtectedRegion::plan() {
  if (!is_resizable()) return {};
  length_ = elements();
  const std::uint64_t row = row_elements();
  if (length_ == (row == 0 ? 0 : length_ / row * row)) return {};
  return fail(
      Code::invalid_argument,
      fmt::format("region \"{}\" has {} elements, which are not a whole number of rows of {}", name_, length_, row));
}

const detail::AnyKind& ProtectedRegion::kind() const {
  static const detail::AnyKind kNone;
  return special_ ? special_->kind : kNone;
}

Status ProtectedRegion::set_kind(detail::AnyKind kind) {
  RegionInfo now = info();
  if (is_part_of_array()) {
    return fail(Code::invalid_argument, fmt::format("region \"{}\" is a part of a global array", name_),
                "such a region needs no kind; protect it without a place to give it one");
  }
  if (auto good = check_kind(now, kind); !good) return good;
  if (!special_) special_ = std::make_unique<Special>(Special{std::move(now)});
  special_->kind = std::move(kind);
  return {};
}

bool ProtectedRegion::fits(const RegionInfo& stored) const {
  const RegionInfo now = info();
  if (!same_type(now, stored)) return false;
  if (!is_resizable()) return now.shape == stored.shape;
  return stored.shape.size() == now.shape.size() &&
         std::equal(now.shape.begin() + 1, now.shape.end(), stored.shape.begin() + 1);
}

bool ProtectedRegion::has_fixed_size_other_than(const RegionInfo& stored) const {
  return has_fixed_size_ && info().shape.front() != stored.shape.front();
}

bool ProtectedRegion::has_place_other_than(const RegionInfo& stored) const {
  if (!is_part_of_array() || stored.global_shape.empty()) return false;
  const RegionInfo& mine = special_->info;
  return mine.global_shape != stored.global_shape || mine.global_offset != stored.global_offset ||
         mine.ghosts_before != stored.ghosts_before || mine.ghosts_after != stored.ghosts_after;
}

SavedObject* ProtectedRegion::object() const { return special_ ? special_->object.get() : nullptr; }

ProtectedPath* ProtectedRegion::file() const { return special_ ? special_->file.get() : nullptr; }

std::string ProtectedRegion::text() const { return file() != nullptr ? file()->text(name_) : object_text(name_); }

Result<bool> ProtectedRegion::open_file() {
  if (file() == nullptr) return false;
  if (auto opened = file()->open(); !opened) return fail(opened.error());
  const std::string before = std::exchange(special_->info.type_name, file()->type_name());
  return special_->info.type_name != before;
}

const std::string* ProtectedRegion::scratch_path() const {
  return special_ && special_->is_scratch ? &special_->path : nullptr;
}

Status ProtectedRegion::set_destination(const std::string& path) {
  if (file() == nullptr || !special_->info.is_file())
    return fail(Code::invalid_argument, fmt::format("region \"{}\" is no file: it cannot have a destination", name_),
                "protect a file, or a scratch file, with this name");
  const std::string whole = path.empty() ? path : absolute_path(path);
  if (whole == special_->path)
    return fail(Code::invalid_argument, fmt::format("the destination of file \"{}\" is the file itself", name_));
  special_->destination = whole;
  return {};
}

const std::string& ProtectedRegion::destination() const {
  static const std::string kNone;
  return special_ ? special_->destination : kNone;
}

}  // namespace cairn
