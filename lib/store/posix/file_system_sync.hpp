// Brings to the disk what was written to a file system, by one call in place of one for each file. Thousands of small
// files take seconds otherwise. Local.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "store/posix/posix_file.hpp"

namespace cairn::posix {

class FileSystemSync {
 public:
  // The file system of this directory, itself and not one that is mounted below it. None: it has no such call, or one
  // that reports no errors.
  [[nodiscard]] static std::optional<FileSystemSync> open(const std::string& directory);

  // Of its files, as stat tells it.
  [[nodiscard]] std::uint64_t device() const { return device_; }
  // Whether all that was written since open() is on the disk. If not, nothing is known.
  [[nodiscard]] bool sync() const;

 private:
  FileSystemSync(Fd directory, std::uint64_t device) : directory_(std::move(directory)), device_(device) {}

  Fd directory_;
  std::uint64_t device_;
};

}  // namespace cairn::posix
