// The bytes of a region that is a directory: a head, a table of all directories and files in it, and then the files end
// to end. FORMAT.md describes them. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.hpp"
#include "base/error.hpp"
#include "format/region.hpp"

namespace cairn {

// The type name of the region. Stored in files; never changes.
inline constexpr std::string_view kDirectoryType = "cairn directory";
[[nodiscard]] inline bool is_directory(const RegionInfo& region) {
  return region.type == ElementType::opaque && region.type_name == kDirectoryType;
}

// Of the directory itself, the path is empty. It comes first, and each directory before what is in it.
struct DirectoryEntry {
  std::string path;  // below the directory, with '/' between names
  bool is_directory = false;
  std::uint32_t mode = 0;        // permissions
  std::uint64_t size_bytes = 0;  // of a file
  friend bool operator==(const DirectoryEntry&, const DirectoryEntry&) = default;
};

inline constexpr std::uint64_t kDirectoryHeadBytes = 16;  // never changes

// Head and table.
[[nodiscard]] Buffer encode(const std::vector<DirectoryEntry>& entries);
// The length of the table that follows a head of kDirectoryHeadBytes.
[[nodiscard]] Result<std::uint64_t> table_bytes_after(Bytes head);
// Code::corrupt: it is not what encode() makes. A path that leads out of the directory is refused, too.
[[nodiscard]] Result<std::vector<DirectoryEntry>> decode_directory_table(Bytes table);

}  // namespace cairn
