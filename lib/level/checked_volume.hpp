// A node's own shards end to end, as they are copied and encoded: what is read is checked on the way (see
// format/checked_shard), so that a damaged shard ends the stream with an error that names it. Local; not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "format/checked_shard.hpp"
#include "level/exchange.hpp"
#include "level/volume.hpp"

namespace cairn {

class CheckedVolume {
 public:
  // `shards`: what the manifest says of them. `sha`: blocks are checked by their SHA-256 too.
  CheckedVolume(const Store& store, const DirName& dir, std::vector<ShardEntry> shards, bool sha);
  // The same of shards that need not be files of one store: `open` finds them.
  using Open = std::function<Result<CheckedShard>(const ShardEntry& shard)>;
  CheckedVolume(const DirName& dir, std::vector<ShardEntry> shards, Open open);

  // Reads `volume` from `start` on, front to back, for one stream. Past the end there are zeros.
  [[nodiscard]] static ReadAt stream(std::shared_ptr<CheckedVolume> volume, std::uint64_t start);

 private:
  struct Hand {
    std::size_t file = 0;
    CheckedShard::InHand block;
  };
  [[nodiscard]] Result<Bytes> read(std::uint64_t offset, std::uint64_t length, Buffer& scratch, Hand& hand);
  [[nodiscard]] Result<Bytes> read_file(std::size_t file, std::uint64_t offset, std::uint64_t length, Buffer& scratch,
                                        Hand& hand);
  [[nodiscard]] Result<CheckedShard*> shard_of(std::size_t file);

  Open find_;
  std::vector<VolumeFile> files_;
  std::vector<ShardEntry> shards_;
  VolumeMap map_;
  std::vector<std::optional<CheckedShard>> open_;
};

}  // namespace cairn
