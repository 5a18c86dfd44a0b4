// Something of the application in the file system that snapshots contain: a file, or a directory. A snapshot reads it
// straight into the shard. A restore prepares what was stored beside the files there, and puts it in place when all
// ranks have read the same snapshot.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/bytes.hpp"
#include "base/error.hpp"
#include "format/shard.hpp"

namespace cairn {

class ProtectedPath {
 public:
  virtual ~ProtectedPath() = default;
  ProtectedPath() = default;
  ProtectedPath(const ProtectedPath&) = delete;
  ProtectedPath& operator=(const ProtectedPath&) = delete;

  // file "log", directory "results"
  [[nodiscard]] virtual std::string text(const std::string& region) const = 0;

  // For a snapshot: open() once, then read() until close(). read() of the last byte fails if something has changed.
  [[nodiscard]] virtual Status open() = 0;
  [[nodiscard]] virtual Status read(std::uint64_t offset, MutableBytes into) = 0;
  virtual void close() = 0;
  // The snapshot has been taken, or has failed.
  virtual void end_snapshot() {}
  // The type of the region, of what is open.
  [[nodiscard]] virtual std::string type_name() const = 0;
  // As it was opened, or as it is in a restore.
  [[nodiscard]] std::uint64_t size() const { return size_; }

  // For a restore: prepare() from a region of a shard; or from memory, of another number of ranks. Then put_back(). The
  // errors of the application's own files are none of the shard.
  [[nodiscard]] Status prepare(const ShardFile& shard, const PlacedRegion& region);
  MutableBytes use_memory(std::uint64_t size_bytes);
  [[nodiscard]] MutableBytes memory() { return memory_; }
  [[nodiscard]] Status prepare_from_memory();
  [[nodiscard]] Status put_back();
  // What was prepared is not needed.
  void forget();

 protected:
  // `stored`: the region in the snapshot; null: it comes from memory, where only the bytes are known.
  [[nodiscard]] virtual Status begin(std::uint64_t size_bytes, const RegionInfo* stored) = 0;
  [[nodiscard]] virtual Status add(Bytes bytes) = 0;
  [[nodiscard]] virtual Status finish() = 0;
  [[nodiscard]] virtual Status apply() = 0;
  virtual void drop() = 0;

  std::uint64_t size_ = 0;

 private:
  [[nodiscard]] Status start(std::uint64_t size_bytes, const RegionInfo* stored);

  bool prepared_ = false;
  Buffer memory_;
};

// Without a working directory, as the path was given: a program may change its directory.
[[nodiscard]] std::string absolute_path(const std::string& path);

}  // namespace cairn
