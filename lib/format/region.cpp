#include "format/region.hpp"

#include <cxxabi.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <memory>

#include <fmt/format.h>

#include "format/directory_table.hpp"

namespace cairn {
namespace {

constexpr std::size_t kLongestName = 255;
constexpr std::uint64_t kLargestRegion = 1ULL << 56U;  // keeps every sum of sizes and offsets far from overflow

std::uint32_t bytes_of_element(ElementType type) {
  switch (type) {
    case ElementType::opaque: return 0;
    case ElementType::int8:
    case ElementType::uint8: return 1;
    case ElementType::int16:
    case ElementType::uint16: return 2;
    case ElementType::int32:
    case ElementType::uint32:
    case ElementType::float32: return 4;
    case ElementType::int64:
    case ElementType::uint64:
    case ElementType::float64: return 8;
  }
  return 0;
}

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

// Dimensions of zero are left out, so that an empty region cannot hide impossible other dimensions.
bool fits(const std::vector<std::uint64_t>& shape, std::uint64_t element_bytes) {
  std::uint64_t bytes = element_bytes;
  for (const std::uint64_t length : shape) {
    if (length == 0) continue;
    if (length > kLargestRegion / bytes) return false;
    bytes *= length;
  }
  return true;
}

tl::unexpected<Error> refuse(const RegionInfo& region, const std::string& what, const std::string& hint) {
  return fail(Code::invalid_argument, fmt::format("region \"{}\": {}", region.name, what), hint);
}

Status check_name(const RegionInfo& region) {
  const std::string& name = region.name;
  if (name.empty()) return fail(Code::invalid_argument, "a region has no name", "names are 1 to 255 bytes long");
  if (name.size() > kLongestName) {
    return refuse(region, fmt::format("a name of {} bytes is too long", name.size()), "names are 1 to 255 bytes long");
  }
  if (name == "." || std::ranges::any_of(name, [](char c) { return c == '/' || is_control(c); })) {
    return refuse(region, "this is not a valid name", "names have no '/' and no control characters and are not \".\"");
  }
  return {};
}

Status check_type(const RegionInfo& region) {
  if (region.type > ElementType::float64) {
    return refuse(region, fmt::format("element type {} is unknown", static_cast<unsigned>(region.type)),
                  "use 0 (opaque) to 10 (float64)");
  }
  if (region.type == ElementType::opaque) {
    if (region.element_bytes == 0)
      return refuse(region, "an element has 0 bytes", "an element must have at least one byte");
    if (region.type_name.size() > kLongestName || std::ranges::any_of(region.type_name, is_control)) {
      return refuse(region, "the type's name is not valid", "at most 255 bytes, no control characters");
    }
    return {};
  }
  const std::uint32_t bytes = bytes_of_element(region.type);
  if (region.element_bytes != bytes) {
    return refuse(region,
                  fmt::format("an element has {} bytes, but its type is {}", region.element_bytes, name(region.type)),
                  fmt::format("{} has {} bytes", name(region.type), bytes));
  }
  if (!region.type_name.empty())
    return refuse(region, "only an opaque type has a type name", "leave the type name empty");
  return {};
}

// A region that has not got its size yet may have fewer elements than ghosts.
Status check_ghosts(const RegionInfo& region) {
  if (region.ghosts_before.empty() && region.ghosts_after.empty()) return {};
  if (region.global_shape.empty()) return refuse(region, "it has ghosts, but is no part of a global array", "");
  for (const auto* widths : {&region.ghosts_before, &region.ghosts_after}) {
    if (widths->size() != region.shape.size()) {
      return refuse(region, fmt::format("its ghosts have {} dimensions", widths->size()),
                    fmt::format("should be {}, as in the region itself", region.shape.size()));
    }
    if (std::ranges::any_of(*widths, [](std::uint64_t width) { return width > kLargestRegion; }))
      return refuse(region, "a layer of ghosts is too wide", "");
  }
  return {};
}

Status check_shape(const RegionInfo& region) {
  if (region.shape.size() > kMostDimensions || region.global_shape.size() > kMostDimensions) {
    return refuse(region, "it has too many dimensions", fmt::format("at most {}", kMostDimensions));
  }
  if (!fits(region.shape, region.element_bytes) || !fits(region.global_shape, region.element_bytes)) {
    return refuse(region, "it is too large", fmt::format("at most {} bytes", kLargestRegion));
  }
  if (auto good = check_ghosts(region); !good) return good;
  if (region.global_shape.empty() && region.global_offset.empty()) return {};
  if (region.global_shape.size() != region.shape.size() || region.global_offset.size() != region.shape.size()) {
    return refuse(region, "its place in a global array has a different number of dimensions",
                  fmt::format("should be {}, as in the region itself", region.shape.size()));
  }
  for (std::size_t i = 0; i < region.shape.size(); ++i) {
    const std::uint64_t length = region.own_length(i);
    if (region.global_offset[i] > region.global_shape[i] || length > region.global_shape[i] - region.global_offset[i]) {
      return refuse(region,
                    fmt::format("dimension {}: {} elements at {} do not fit a global array of {}", i, length,
                                region.global_offset[i], region.global_shape[i]),
                    "offset + length ≤ global length");
    }
  }
  return {};
}

// How a person reads the name of a C++ type, which is stored as typeid gives it; any other name as it is. Programs in C
// choose names freely, so the codes of bool and long double count only at their size. Names come from files, and one
// that refers to its own parts many times would grow exponentially.
std::string demangled(const std::string& type_name, std::uint32_t element_bytes) {
  constexpr std::ptrdiff_t kMostReferences = 20;  // each has an underscore
  if (type_name == "b" && element_bytes == sizeof(bool)) return "bool";
  if (type_name == "e" && element_bytes == sizeof(long double)) return "long double";
  const bool has_length = std::ranges::any_of(type_name, [](char c) { return c >= '0' && c <= '9'; });
  if (!has_length || std::ranges::count(type_name, '_') > kMostReferences) return type_name;
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> name(
      abi::__cxa_demangle(type_name.c_str(), nullptr, nullptr, &status), &std::free);
  return status == 0 && name ? name.get() : type_name;
}

std::string text_of_type(const RegionInfo& region, const std::string& type_name) {
  if (region.is_object()) return fmt::format("object({} B)", region.size_bytes());
  if (is_directory(region)) return fmt::format("directory({} B)", region.size_bytes());
  if (region.is_file()) return fmt::format("file({} B)", region.size_bytes());
  std::string text(cairn::name(region.type));
  if (region.type == ElementType::opaque) text += fmt::format("({}, {} B)", type_name, region.element_bytes);
  for (const std::uint64_t length : region.shape) text += fmt::format("[{}]", length);
  return text;
}

}  // namespace

std::uint64_t RegionInfo::elements() const {
  std::uint64_t count = 1;
  for (const std::uint64_t length : shape) count *= length;
  return count;
}

std::uint64_t RegionInfo::own_length(std::size_t dimension) const {
  if (!has_ghosts()) return shape[dimension];
  return shape[dimension] - std::min(shape[dimension], ghosts_before[dimension] + ghosts_after[dimension]);
}

std::optional<std::uint32_t> RegionInfo::file_mode() const {
  if (!is_file()) return std::nullopt;
  std::uint32_t mode = 0;
  const char* const begin = type_name.data() + std::min(type_name.size(), kFileType.size() + 1);
  const char* const end = type_name.data() + type_name.size();
  const auto [after, error] = std::from_chars(begin, end, mode, 8);
  if (error != std::errc() || after != end || mode > 0777) return std::nullopt;
  return mode;
}

std::string RegionInfo::type_text() const { return text_of_type(*this, demangled(type_name, element_bytes)); }

std::string RegionInfo::stored_type_text() const { return text_of_type(*this, type_name); }

std::string_view name(ElementType type) {
  switch (type) {
    case ElementType::opaque: return "opaque";
    case ElementType::int8: return "int8";
    case ElementType::int16: return "int16";
    case ElementType::int32: return "int32";
    case ElementType::int64: return "int64";
    case ElementType::uint8: return "uint8";
    case ElementType::uint16: return "uint16";
    case ElementType::uint32: return "uint32";
    case ElementType::uint64: return "uint64";
    case ElementType::float32: return "float32";
    case ElementType::float64: return "float64";
  }
  return "unknown";
}

bool same_type(const RegionInfo& a, const RegionInfo& b) {
  if (a.is_file() && b.is_file()) return a.element_bytes == b.element_bytes;
  return a.type == b.type && a.element_bytes == b.element_bytes && a.type_name == b.type_name;
}

Status check(const RegionInfo& region) {
  return check_name(region).and_then([&] { return check_type(region); }).and_then([&] { return check_shape(region); });
}

}  // namespace cairn
