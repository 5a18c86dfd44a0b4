// A file mapped into memory, and the mappings that a process keeps because it will write the same files again:
// on tmpfs, writing through a mapping whose pages this process has touched before is a plain memory copy,
// while a fresh one pays for a page fault every 4 KiB.
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

// The mappings kept, by file. A mapping keeps its file's inode from being given to another file, so a match is
// always the same file. At most `limit`; the one unused for longest goes first. Thread-safe.
class WarmMappings {
 public:
  explicit WarmMappings(std::size_t limit) : limit_(limit) {}

  void put(dev_t device, ino_t inode, std::shared_ptr<Mapping> mapping);
  // Hands the file's mapping over to the caller alone; nothing when there is none.
  [[nodiscard]] std::shared_ptr<Mapping> take(dev_t device, ino_t inode);
  [[nodiscard]] bool has(dev_t device, ino_t inode) const;

 private:
  struct Warm {
    dev_t device;
    ino_t inode;
    std::shared_ptr<Mapping> mapping;
  };

  std::size_t limit_;
  mutable std::mutex mutex_;
  std::list<Warm> warm_;  // the most recently used last
};

}  // namespace cairn::posix
