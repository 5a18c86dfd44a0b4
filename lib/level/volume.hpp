// A node's volume: some files of a store end to end, as one run of bytes. Levels read shards and write copies
// through it, so that none of them deals with file borders. Local; not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "base/error.hpp"
#include "format/shard.hpp"
#include "store/pending_file.hpp"
#include "store/store.hpp"

namespace cairn {

struct VolumeFile {
  FileName name;
  std::uint64_t bytes = 0;
};

[[nodiscard]] std::uint64_t volume_bytes(const std::vector<VolumeFile>& files);
[[nodiscard]] std::uint64_t volume_bytes(const std::vector<ShardEntry>& shards);

// Where each file begins in its volume.
class VolumeMap {
 public:
  explicit VolumeMap(const std::vector<VolumeFile>& files);
  // The file with this byte of the volume; past the end: the number of files.
  [[nodiscard]] std::size_t file_at(std::uint64_t offset) const;
  [[nodiscard]] std::uint64_t start_of(std::size_t file) const { return starts_[file]; }
  [[nodiscard]] std::uint64_t end_of(std::size_t file) const { return starts_[file + 1]; }

 private:
  std::vector<std::uint64_t> starts_;
};

// Opens files as they are reached. Past the end there are zeros: a volume is padded to whole chunks.
class VolumeReader {
 public:
  VolumeReader(const Store& store, std::vector<VolumeFile> files);
  // The bytes where they are mapped, valid while this lives; across the borders of files, or when the store does not
  // map: in `scratch`.
  [[nodiscard]] Result<Bytes> read(std::uint64_t offset, std::uint64_t length, Buffer& scratch);
  // The file that could not be read, after read() has failed.
  [[nodiscard]] const std::optional<FileName>& bad_file() const { return bad_; }

 private:
  [[nodiscard]] Status fill(std::uint64_t offset, MutableBytes into);
  [[nodiscard]] Result<const Reader*> reader_of(std::size_t file);
  [[nodiscard]] tl::unexpected<Error> blame(std::size_t file, const Error& error);

  const Store* store_;
  std::vector<VolumeFile> files_;
  VolumeMap map_;
  std::optional<FileName> bad_;
  std::vector<std::unique_ptr<Reader>> readers_;
};

// The inverse: takes a volume's bytes in order. The files have no names yet.
class VolumeWriter {
 public:
  VolumeWriter(Store& store, std::vector<VolumeFile> files, std::string owner);
  // Bytes that lie in their place already are not copied.
  [[nodiscard]] Status write(Bytes bytes);
  // The files, when every byte is written.
  [[nodiscard]] std::vector<PendingFile> take();
  // Where these bytes of the volume will lie, so that the caller can put them there before write(). Empty if they would
  // not lie in one run of mapped memory, or if the file cannot be created.
  [[nodiscard]] MutableBytes place(std::uint64_t offset, std::uint64_t length);

 private:
  [[nodiscard]] Result<Writer*> writer_of(std::size_t file);

  Store* store_;
  std::vector<VolumeFile> files_;
  std::string owner_;
  std::vector<std::unique_ptr<Writer>> writers_;
  std::size_t file_ = 0;
  std::uint64_t offset_ = 0;  // in the current file
};

}  // namespace cairn
