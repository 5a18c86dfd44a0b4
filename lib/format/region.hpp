// The description of one protected variable: its name, element type and shape, and where it lies in a larger array when
// it is a part of one. Plain data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.hpp"
#include "base/error.hpp"

namespace cairn {

// Stored in files; the numbers never change.
enum class ElementType : std::uint8_t {
  opaque = 0,  // a trivially copyable type of the user's, known by name and size
  int8 = 1,
  int16 = 2,
  int32 = 3,
  int64 = 4,
  uint8 = 5,
  uint16 = 6,
  uint32 = 7,
  uint64 = 8,
  float32 = 9,
  float64 = 10,
};

constexpr std::size_t kMostDimensions = 32;  // HDF5 has no more

// The type name of an object: the application has made its bytes. Stored in files; never changes.
inline constexpr std::string_view kObjectType = "cairn object";

// The type name of a file of the application: this and its permissions, such as "cairn file 644". The same.
inline constexpr std::string_view kFileType = "cairn file";

struct RegionInfo {
  std::string name;  // 1 … 255 bytes, no '/' and no control characters
  ElementType type = ElementType::opaque;
  std::uint32_t element_bytes = 1;
  std::string type_name;                     // of opaque types; empty otherwise
  std::vector<std::uint64_t> shape;          // slowest dimension first; empty: a scalar
  std::vector<std::uint64_t> global_shape;   // of the array that it is a part of; empty: none
  std::vector<std::uint64_t> global_offset;  // where its first own element lies there; as long as global_shape
  // Of a part of an array: how many elements around its own ones are copies of other ranks' elements. As long as its
  // shape, which includes them; both empty: none.
  std::vector<std::uint64_t> ghosts_before = {};
  std::vector<std::uint64_t> ghosts_after = {};

  [[nodiscard]] bool is_object() const { return type == ElementType::opaque && type_name == kObjectType; }
  [[nodiscard]] bool is_file() const { return type == ElementType::opaque && type_name.starts_with(kFileType); }
  // Its permissions, of a file in a snapshot.
  [[nodiscard]] std::optional<std::uint32_t> file_mode() const;
  [[nodiscard]] bool has_ghosts() const { return !ghosts_before.empty(); }
  // Its own elements in a dimension.
  [[nodiscard]] std::uint64_t own_length(std::size_t dimension) const;
  [[nodiscard]] std::uint64_t elements() const;
  [[nodiscard]] std::uint64_t size_bytes() const { return elements() * element_bytes; }
  // "float64[100][20]", "opaque(Particle, 24 B)[5]", "object(123 B)", "file(123 B)": names
  // of C++ types as in their source.
  [[nodiscard]] std::string type_text() const;
  // The same with the name as it is stored and compared: "opaque(8Particle, 24 B)[5]".
  [[nodiscard]] std::string stored_type_text() const;
  friend bool operator==(const RegionInfo&, const RegionInfo&) = default;
};

[[nodiscard]] std::string_view name(ElementType type);
// Whether elements of both are of one type. Files are, whatever their permissions.
[[nodiscard]] bool same_type(const RegionInfo& a, const RegionInfo& b);
// Refuses what no shard can hold: names and shapes outside the limits above.
[[nodiscard]] Status check(const RegionInfo& region);

}  // namespace cairn
