// A file mapped into memory, and the mappings that a process keeps because it will read the same files again: on
// tmpfs, a mapping whose pages this process has touched before is plain memory, while a fresh one pays for page faults.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>

#include "base/bytes.hpp"
#include "base/error.hpp"

namespace cairn::posix {

// Identifies a file independently of its name. While a file is open or mapped, no other file can get its inode number.
struct FileId {
  dev_t device = 0;
  ino_t inode = 0;
  friend bool operator==(const FileId&, const FileId&) = default;
};

// Unmapped when the last owner goes.
class Mapping {
 public:
  enum class Access { read, write };
  // The first `size_bytes` of the file, which must have them. For writing, the pages are touched at once.
  static Result<std::shared_ptr<Mapping>> map(int file, std::uint64_t size_bytes, Access access,
                                              const std::string& path);
  explicit Mapping(MutableBytes bytes) : bytes_(bytes) {}
  ~Mapping();
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  [[nodiscard]] MutableBytes bytes() const { return bytes_; }

 private:
  MutableBytes bytes_;
};

// The mappings of files that were read, kept for the next reader. The key is the file, not its name, because a recycled
// file is the same file under another name. At most `limit`; the least recently used one is dropped first. Thread-safe.
class WarmMappings {
 public:
  explicit WarmMappings(std::size_t limit) : limit_(limit) {}

  // Replaces an earlier mapping of the file.
  void put(FileId id, std::shared_ptr<Mapping> mapping);
  // Shares the mapping with the caller; nothing if there is none of at least `size_bytes`.
  [[nodiscard]] std::shared_ptr<Mapping> share(FileId id, std::uint64_t size_bytes);

 private:
  struct Warm {
    FileId id;
    std::shared_ptr<Mapping> mapping;
  };

  std::size_t limit_;
  std::mutex mutex_;
  std::list<Warm> warm_;  // the most recently used last
};

}  // namespace cairn::posix
