#include "format/directory_table.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

namespace cairn {
namespace {

constexpr std::uint64_t kMagic = 0x52494443'4e524943;  // "CIRNCDIR"; never changes
constexpr std::uint32_t kPermissions = 0777;

bool is_good_name(std::string_view name) {
  return !name.empty() && name != "." && name != ".." && name.find('\0') == std::string_view::npos;
}

// The directory that it is in.
std::string parent_of(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash);
}

std::string_view name_in(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == std::string::npos ? std::string_view(path) : std::string_view(path).substr(slash + 1);
}

}  // namespace

Buffer encode(const std::vector<DirectoryEntry>& entries) {
  ByteWriter table;
  for (const DirectoryEntry& entry : entries) {
    table.put(static_cast<std::uint8_t>(entry.is_directory ? 0 : 1));
    table.put(entry.mode);
    table.put(entry.size_bytes);
    table.put_text(entry.path);
  }
  ByteWriter all;
  all.put(kMagic);
  all.put(static_cast<std::uint64_t>(table.bytes().size()));
  all.put(table.bytes());
  return all.take();
}

Result<std::uint64_t> table_bytes_after(Bytes head) {
  ByteReader in(head);
  const auto magic = in.get<std::uint64_t>();
  const auto bytes = in.get<std::uint64_t>();
  if (!in.good() || magic != kMagic) return fail(Code::corrupt, "the region does not begin as a directory does");
  return bytes;
}

Result<std::vector<DirectoryEntry>> decode_directory_table(Bytes table) {
  ByteReader in(table);
  std::vector<DirectoryEntry> entries;
  std::set<std::string> directories;
  std::set<std::string> paths;
  while (in.good() && in.remaining() > 0) {
    DirectoryEntry entry;
    const auto kind = in.get<std::uint8_t>();
    entry.is_directory = kind == 0;
    entry.mode = in.get<std::uint32_t>();
    entry.size_bytes = in.get<std::uint64_t>();
    entry.path = in.get_text();
    if (!in.good()) break;
    const bool is_first = entries.empty();
    const bool has_place = is_first ? entry.path.empty() && entry.is_directory
                                    : !entry.path.starts_with('/') && is_good_name(name_in(entry.path)) &&
                                          directories.contains(parent_of(entry.path));
    if (!has_place || kind > 1 || entry.mode > kPermissions || (entry.is_directory && entry.size_bytes != 0) ||
        !paths.insert(entry.path).second)
      return fail(Code::corrupt, fmt::format("the table of the directory has a wrong entry: {}", entries.size()));
    if (entry.is_directory) directories.insert(entry.path);
    entries.push_back(std::move(entry));
  }
  if (!in.good() || entries.empty()) return fail(Code::corrupt, "the table of the directory ends too early");
  return entries;
}

}  // namespace cairn
