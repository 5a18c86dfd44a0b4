// Directories of the application: snapshots contain them, and a restore puts back what was in them. Symbolic links are
// never followed; what is neither a directory nor a regular file is refused by name. Local.
#pragma once

#include <cstdint>
#include <ctime>
#include <string>
#include <vector>

#include "base/error.hpp"

namespace cairn::posix {

struct FoundEntry {
  std::string path;  // below the directory; empty: the directory itself
  bool is_directory = false;
  std::uint32_t mode = 0;
  std::uint64_t size_bytes = 0;  // of a file
  std::int64_t changed_s = 0;    // of a file
  std::int64_t changed_ns = 0;
  friend bool operator==(const FoundEntry&, const FoundEntry&) = default;
};

// All that is in a directory, with it first, each directory before what is in it, in name order. Without temporary
// files of Cairn (user_file).
[[nodiscard]] Result<std::vector<FoundEntry>> walk(const std::string& path);

// Directories that were missing. They are removed again, as far as they are empty, unless keep() is called.
class MadeDirectories {
 public:
  MadeDirectories() = default;
  MadeDirectories(const MadeDirectories&) = delete;
  MadeDirectories& operator=(const MadeDirectories&) = delete;
  ~MadeDirectories() { undo(); }

  // Makes it, if it is not there. Fails if something else is.
  [[nodiscard]] Status need(const std::string& path);
  void keep() { made_.clear(); }
  void undo();

 private:
  std::vector<std::string> made_;
};

[[nodiscard]] Status set_permissions(const std::string& directory, std::uint32_t mode);

}  // namespace cairn::posix
