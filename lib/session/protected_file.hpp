// A file of the application that snapshots contain. A snapshot reads it straight into the shard. A restore prepares the
// file as it was, and puts it in place when all ranks have read the same snapshot.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/bytes.hpp"
#include "base/error.hpp"
#include "base/ids.hpp"
#include "format/shard.hpp"
#include "store/posix/user_file.hpp"

namespace cairn {

class ProtectedFile {
 public:
  // `self`: ranks that protect one path do not disturb each other.
  ProtectedFile(const std::string& path, Rank self);

  // For a snapshot: open() once, then read() until close(). read() of the last byte fails if the file has changed.
  [[nodiscard]] Status open();
  [[nodiscard]] Status read(std::uint64_t offset, MutableBytes into) const;
  void close();
  // As it was opened, or as it is in a restore.
  [[nodiscard]] std::uint64_t size() const { return size_; }
  [[nodiscard]] std::uint32_t mode() const { return file_->mode(); }

  // For a restore: prepare() from a region of a shard; or from memory, of another number of ranks. Then put_back(). The
  // errors of the application's own file are none of the shard.
  [[nodiscard]] Status prepare(const ShardFile& shard, const PlacedRegion& region);
  MutableBytes use_memory(std::uint64_t size_bytes);
  [[nodiscard]] MutableBytes memory() { return memory_; }
  [[nodiscard]] Status prepare_from_memory();
  [[nodiscard]] Status put_back();
  // What was prepared is not needed.
  void forget();

 private:
  [[nodiscard]] Status begin(std::uint64_t size_bytes, std::optional<std::uint32_t> mode);

  std::string path_;  // absolute: a program may change its directory
  std::string tag_;
  std::uint64_t size_ = 0;
  std::optional<posix::UserFile> file_;
  std::optional<posix::FileReplacement> replacement_;
  Buffer memory_;
};

}  // namespace cairn
