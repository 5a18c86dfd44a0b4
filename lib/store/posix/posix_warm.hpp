// Files that this process has written and will write again: each open, and mapped with its pages touched, so that the
// next snapshot has no page faults and need not search the pool. At most `limit`; the least recently used one is
// dropped first. Thread-safe.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "store/posix/posix_file.hpp"
#include "store/posix/posix_mapping.hpp"

namespace cairn::posix {

struct WarmFile {
  FileId id;
  std::string owner;  // in the pool
  Fd file;
  std::shared_ptr<Mapping> mapping;
};

class WarmFiles {
 public:
  explicit WarmFiles(std::size_t limit) : limit_(limit) {}

  void put(WarmFile file);
  // Hands the file over to the caller alone; nothing when there is none.
  [[nodiscard]] std::optional<WarmFile> take(FileId id);
  // The least recently used file for which `fits` is true. `fits` is called under a mutex and may claim the file.
  [[nodiscard]] std::optional<WarmFile> take_if(const std::function<bool(const WarmFile&)>& fits);
  [[nodiscard]] bool has(FileId id) const;

 private:
  std::size_t limit_;
  mutable std::mutex mutex_;
  std::list<WarmFile> files_;  // the most recently used last
};

}  // namespace cairn::posix
