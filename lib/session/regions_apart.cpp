#include "session/regions_apart.hpp"

#include <string_view>
#include <utility>

namespace cairn {
namespace {

void replace_all(std::string& text, std::string_view from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

}  // namespace

Result<bool> RegionsApart::prepare() const {
  bool changed = false;
  const auto opened = for_each([&](ProtectedRegion& region) -> Status {
    auto type_changed = region.open_file();
    if (!type_changed) return fail(type_changed.error());
    changed |= *type_changed;
    return {};
  });
  if (!opened) return fail(opened.error());
  const auto saved =
      for_each([](const ProtectedRegion& region) { return region.object() ? region.object()->save() : Status{}; });
  if (!saved) return fail(saved.error());
  return changed;
}

void RegionsApart::release() const {
  (void)for_each([](const ProtectedRegion& region) -> Status {
    if (SavedObject* const object = region.object()) object->free();
    if (ProtectedPath* const file = region.file()) {
      file->close();
      file->forget();
    }
    return {};
  });
}

void RegionsApart::end_snapshot() const {
  release();
  (void)for_each([](const ProtectedRegion& region) -> Status {
    if (ProtectedPath* const file = region.file()) file->end_snapshot();
    return {};
  });
}

Status RegionsApart::prepare_from_memory() const {
  return for_each(
      [](const ProtectedRegion& region) { return region.file() ? region.file()->prepare_from_memory() : Status{}; });
}

bool RegionsApart::are_asked(const std::string& only) const {
  if (only.empty()) return regions_.apart() > 0;
  const ProtectedRegion* const region = regions_.find(only);
  return region != nullptr && region->is_apart();
}

Status RegionsApart::complete(const std::string& only) const {
  const auto put_back = for_each([&](const ProtectedRegion& region) {
    return region.file() && region.is_asked(only) ? region.file()->put_back() : Status{};
  });
  if (!put_back) return put_back;
  return for_each([&](const ProtectedRegion& region) {
    return region.object() && region.is_asked(only) ? region.object()->load() : Status{};
  });
}

Destinations RegionsApart::destinations(Version version, Rank self) const {
  Destinations all;
  (void)for_each([&](const ProtectedRegion& region) -> Status {
    if (region.destination().empty()) return {};
    std::string path = region.destination();
    replace_all(path, "{version}", std::to_string(version.value));
    replace_all(path, "{rank}", std::to_string(self.value));
    all.push_back({region.name(), std::move(path)});
    return {};
  });
  return all;
}

bool RegionsApart::have_files() const {
  return has_any([](const ProtectedRegion& region) { return region.file() != nullptr; });
}

bool RegionsApart::have_scratch_files() const {
  return has_any([](const ProtectedRegion& region) { return region.scratch_path() != nullptr; });
}

}  // namespace cairn
