#include "session/region_access.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "format/directory_table.hpp"

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

}  // namespace

bool is_memory(const detail::RegionAccess& access) { return !access.is_saved && !access.path_kind; }

bool is_resizable(const detail::RegionAccess& access) {
  return !is_memory(access) || (access.calls != nullptr && access.calls->resize != nullptr);
}

bool is_complete(const detail::RegionAccess& access) {
  return (!access.is_saved || (access.save && access.load)) && (!access.path_kind || !access.file.empty());
}

bool is_plain(const detail::RegionAccess& access) {
  const std::size_t most_dimensions = is_resizable(access) ? 0 : 1;  // and the one that is resized
  return is_memory(access) && access.type_name.empty() && access.shape.size() <= most_dimensions && !access.place &&
         access.kind.index() == 0;
}

std::uint64_t row_elements(const std::vector<std::uint64_t>& shape) {
  return std::accumulate(shape.begin() + 1, shape.end(), std::uint64_t{1}, std::multiplies<>());
}

RegionInfo info_of(const std::string& name, detail::RegionAccess& access) {
  RegionInfo info;
  info.name = name;
  info.type = element_type(access.element);
  info.element_bytes = access.element_bytes;
  info.type_name = std::move(access.type_name);
  info.shape = std::move(access.shape);
  if (access.path_kind) info.type_name = access.path_kind == detail::PathKind::directory ? kDirectoryType : kFileType;
  if (access.is_saved) info.type_name = kObjectType;
  if (access.place) {
    info.global_shape = std::move(access.place->shape);
    info.global_offset = std::move(access.place->offset);
    take_ghosts(*access.place, info);
  }
  if (!is_resizable(access)) return info;
  info.shape.insert(info.shape.begin(), 0);
  if (is_memory(access))
    info.shape.front() = access.calls->elements(access.object) / std::max<std::uint64_t>(1, row_elements(info.shape));
  return info;
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

}  // namespace cairn
